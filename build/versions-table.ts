import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lacking, LOOKED_UP, PINNED, SECURITY_RELEASES, type Runtime } from '../src/operate/check.ts';

// `npm run -s versions-table`: compares the table of versions in SECURITY.md with src/operate/check.ts, and ends
// with 1 where it differs. With `-- --write` it makes it equal.

const FILE = join(import.meta.dirname, '..', 'SECURITY.md');

const INSTEAD: Readonly<Record<Runtime, string>> = {
  Node: 'one of the machine’s, 24 or newer, runs the program',
  PostgreSQL: '`MIRROR_PG_BIN` names one of the machine’s, or `DATABASE_URL` a server',
};

/** The text with what is generated in it made anew. @throws Error where a marker is missing */
export function withVersions(text: string): string {
  const marked = /(^<!-- versions: .*\n)[\s\S]*?(^<!-- end of versions\b)/m;
  if (!marked.test(text)) throw new Error('the markers "versions: …" and "end of versions" are missing');
  return text.replace(marked, (_, begin: string, end: string) => `${begin}\n${table()}\n\n${end}`);
}

function table(): string {
  const rows = (Object.keys(PINNED) as Runtime[]).map((runtime) => {
    const { version, on } = PINNED[runtime];
    const missing = lacking(runtime, version).join(', ') || 'none';
    const newest = SECURITY_RELEASES[runtime].at(-1)?.versions.join(', ') ?? '';
    return `| ${runtime} | ${version} of ${on} | ${missing} | ${INSTEAD[runtime]}: ${newest} or newer |`;
  });
  return [
    `| | npm brings | security releases since, as of ${LOOKED_UP} | instead |`,
    '|---|---|---|---|',
    ...rows,
  ].join('\n');
}

if (import.meta.main) {
  const text = readFileSync(FILE, 'utf8');
  const right = withVersions(text);
  if (text !== right) {
    const write = process.argv.includes('--write');
    if (write) writeFileSync(FILE, right);
    else process.exitCode = 1;
    process.stderr.write(`SECURITY.md: ${write ? 'written' : 'differs from src/operate/check.ts'}\n`);
  }
}
