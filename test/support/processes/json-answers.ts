import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { ROOT } from '../rules/source-files.ts';

/** Where the schema of each command's `--json` is: `sync.schema.json`. */
export const SCHEMAS = join(ROOT, 'docs', 'schemas');

// `format` says what a text is; that moments are ISO 8601 is tested where they are made.
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, validateFormats: false });
const validators = new Map<string, ValidateFunction>();

/** @throws where what the command printed is not what its schema says */
export function checkAnswer(command: string, answer: unknown): void {
  const schema = (): object => JSON.parse(readFileSync(join(SCHEMAS, `${command}.schema.json`), 'utf8')) as object;
  const validate = validators.get(command) ?? ajv.compile(schema());
  validators.set(command, validate);
  if (validate(answer)) return;
  throw new Error(
    `"${command} --json" is not as docs/schemas/${command}.schema.json says: ${ajv.errorsText(validate.errors)}`,
  );
}
