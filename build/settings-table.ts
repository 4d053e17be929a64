import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ALL_SETTINGS, STANDARD_VARIABLES } from '../src/config/settings.ts';

// `npm run -s settings-table`: compares docs/settings.md with src/config/settings.ts, and ends with 1 where it differs.
// With `-- --write` it makes them equal.

const PAGE = join(import.meta.dirname, '..', 'docs', 'settings.md');

/**
 * The page's text with what is generated in it made anew.
 * @throws Error where a marker is missing
 */
export function withSettings(text: string): string {
  const marked = /(^<!-- settings: .*\n)[\s\S]*?(^<!-- end of settings\b)/m;
  if (!marked.test(text)) throw new Error('the markers "settings: …" and "end of settings" are missing');
  const lines = [...settingsTable(), ...standardTable()].map((line) => `${line}\n`);
  return text.replace(marked, (_, begin: string, end: string) => [begin, ...lines, end].join(''));
}

/** A table in Markdown: those that are required come first. */
function settingsTable(): string[] {
  const rows = ALL_SETTINGS.toSorted((a, b) => Number(b.shown === 'required') - Number(a.shown === 'required'));
  const lines = rows.map(({ names: [name, ...others], shown = '', means = '' }) => {
    const told = others.length > 0 ? `\`${name}\`, \`${name}_<COLLECTION>\`` : `\`${name}\``;
    return `| ${told} | ${shown} | ${means} |`;
  });
  return ['', '| variable | default | meaning |', '|---|---|---|', ...lines, ''];
}

function standardTable(): string[] {
  const rows = Object.entries(STANDARD_VARIABLES).flatMap(([name, { means }]) =>
    means === undefined ? [] : [`| \`${name}\` | ${means} |`],
  );
  const head = 'Variables of other programs, which have no `<NAME>_FILE`:';
  return [head, '', '| variable | meaning |', '|---|---|', ...rows, ''];
}

if (import.meta.main) {
  const text = readFileSync(PAGE, 'utf8');
  const right = withSettings(text);
  if (text !== right) {
    const write = process.argv.includes('--write');
    if (write) writeFileSync(PAGE, right);
    else process.exitCode = 1;
    process.stderr.write(`docs/settings.md: ${write ? 'written' : 'differs from src/config/settings.ts'}\n`);
  }
}
