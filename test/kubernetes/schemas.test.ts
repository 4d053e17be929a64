import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeFolder } from '../support/processes/program.ts';
import { pythonEnvironment } from '../support/python/python-environment.ts';
import { KUBERNETES_FILES, KUBERNETES_FOLDER } from './manifests.ts';

const run = promisify(execFile);
const folder = makeFolder();
let program: string;

beforeAll(async () => {
  const requirements = join(import.meta.dirname, 'requirements.txt');
  program = join(dirname(await pythonEnvironment(requirements)), 'kubernetes-validate');
});

afterAll(() => folder.remove());

/** @throws what Kubernetes' schemas of that version say against the files */
const validate = (version: string, ...paths: readonly string[]): Promise<unknown> =>
  run(program, ['--strict', '--kubernetes-version', version, ...paths]).catch((error: unknown) => {
    throw new Error((error as { readonly stdout: string }).stdout, { cause: error });
  });

describe('the Kubernetes manifests', () => {
  it.each(['1.30', '1.33', '1.37'])('have what the schemas of %s say, and nothing more', async (version) => {
    const files = KUBERNETES_FILES.map((file) => join(KUBERNETES_FOLDER, file));
    await expect(validate(version, ...files)).resolves.toBeDefined();
  });

  it('would not be with a misspelt field', async () => {
    const path = join(folder.path, 'service-account.yaml');
    const misspelt = 'apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}\nautomountToken: false\n';
    await writeFile(path, misspelt);
    await expect(validate('1.37', path)).rejects.toThrow('automountToken');
  });
});
