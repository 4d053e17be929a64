import type { StatementRefused } from '../../db/roles/read-only-query.ts';

/** As psql tells it: what, where (line and a mark below it), and the hint. */
export function explainRefusal(error: StatementRefused, query: string): string {
  // A syntax error names its place; that several statements came has none. Texts are in the server's language.
  const several = error.state === '42601' && error.position === undefined;
  const what = several ? 'one statement at a time, please: this is several' : error.message;
  const lines = [`research-mirror: ${what} (${error.state})`];
  if (error.position !== undefined) {
    // Positions count characters, not UTF-16 units.
    const before = Array.from(query)
      .slice(0, error.position - 1)
      .join('');
    const lineStart = before.lastIndexOf('\n') + 1;
    const line = query.slice(lineStart).split('\n')[0] ?? '';
    const label = `line ${before.split('\n').length}: `;
    const indent = ' '.repeat(label.length) + before.slice(lineStart).replaceAll(/[^\t]/g, ' ');
    lines.push(`${label}${line}`, `${indent}^`);
  }
  if (error.hint !== undefined) lines.push(`hint: ${error.hint}`);
  return `${lines.join('\n')}\n`;
}
