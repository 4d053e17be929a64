import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ofCollection, PER_COLLECTION, SETTINGS, type Setting } from '../src/config/settings.ts';
import { STANDARD_VARIABLES } from '../src/config/secrets.ts';
import type { Variable } from '../src/config/variable.ts';
import { COLLECTION_NAMES } from '../src/model/collections.ts';

// `npm run -s settings-table`: compares docs/settings.md and docker-compose.yml with src/config/settings.ts, and ends
// with 1 where one differs. With `-- --write` it makes them equal.

const ROOT = join(import.meta.dirname, '..');

/** What stands between the markers of each file, without indentation. */
const GENERATED: Readonly<Record<string, () => readonly string[]>> = {
  'docs/settings.md': () => [...settingsTable(), ...standardTable()],
  'docker-compose.yml': () =>
    Object.entries(composeEnvironment()).map(([name, value]) =>
      value === null ? `${name}:` : `${name}: ${value}`,
    ),
};

export const FILES: readonly string[] = Object.keys(GENERATED);

/**
 * The text of one of `FILES` with what is generated in it made anew.
 * @throws Error where a marker is missing
 */
export function withSettings(path: string, text: string): string {
  const marked = /(^( *)(?:<!--|#) settings: .*\n)[\s\S]*?(^ *(?:<!--|#) end of settings\b)/m;
  const lines = GENERATED[path]?.() ?? [];
  if (!marked.test(text))
    throw new Error(`${path}: the markers "settings: …" and "end of settings" are missing`);
  return text.replace(marked, (_, begin: string, indentation: string, end: string) =>
    [begin, ...lines.map((line) => (line === '' ? '\n' : `${indentation}${line}\n`)), end].join(''),
  );
}

/** What docker-compose.yml sets in the daemon's container; null: as in the environment or in `.env`. */
export function composeEnvironment(): Record<string, string | null> {
  const environment: Record<string, string | null> = {};
  const all: [string, Variable][] = [...Object.entries(SETTINGS), ...Object.entries(STANDARD_VARIABLES)];
  for (const [name, { compose }] of all) {
    if (compose === 'image' || compose === 'none') continue;
    environment[name] = compose?.value ?? null;
    if (!isPerCollection(name)) continue;
    for (const collection of COLLECTION_NAMES) environment[ofCollection(name, collection)] = null;
  }
  return environment;
}

/** A table in Markdown: those that are required come first. */
function settingsTable(): string[] {
  const rows = Object.entries<Setting>(SETTINGS).map(([name, setting]): [boolean, string] => {
    const { shown, default: text = '' } = setting;
    const names = isPerCollection(name) ? `\`${name}\`, \`${name}_<COLLECTION>\`` : `\`${name}\``;
    const value = shown ?? (text === '' ? '–' : `\`${text}\``);
    return [shown === 'required', `| ${names} | ${value} | ${meaningOf(setting)} |`];
  });
  const sorted = rows.toSorted(([a], [b]) => Number(b) - Number(a)).map(([, row]) => row);
  return ['', '| variable | default | meaning |', '|---|---|---|', ...sorted, ''];
}

function standardTable(): string[] {
  const rows = Object.entries<Variable>(STANDARD_VARIABLES)
    .filter(([, { means }]) => means !== undefined)
    .map(([name, variable]) => `| \`${name}\` | ${meaningOf(variable)} |`);
  const head = 'Variables of other programs, which have no `<NAME>_FILE`:';
  return [head, '', '| variable | meaning |', '|---|---|', ...rows, ''];
}

function meaningOf({ means = '', section }: Variable): string {
  return section === undefined ? means : `${means} ([${section}](operations.md#${section}))`;
}

function isPerCollection(name: string): name is (typeof PER_COLLECTION)[number] {
  return PER_COLLECTION.some((each) => each === name);
}

if (import.meta.main) {
  const write = process.argv.includes('--write');
  for (const path of FILES) {
    const file = join(ROOT, path);
    const text = readFileSync(file, 'utf8');
    const right = withSettings(path, text);
    if (text === right) continue;
    if (write) writeFileSync(file, right);
    else process.exitCode = 1;
    process.stderr.write(`${path}: ${write ? 'written' : 'differs from src/config/settings.ts'}\n`);
  }
}
