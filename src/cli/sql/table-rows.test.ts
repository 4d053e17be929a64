import { expect, it } from 'vitest';
import { tableRows } from './sql-action.ts';

/** @param columns of the terminal; undefined: it is none */
function printing(
  titles: readonly string[],
  { columns, vertical = false }: { columns?: number; vertical?: boolean } = {},
) {
  const said = { out: '', err: '' };
  const sink = (name: 'out' | 'err') => ({
    write: (part: string | Uint8Array) => (said[name] += String(part)),
    ...(columns === undefined ? {} : { isTTY: true, columns }),
  });
  const rows = tableRows({ out: sink('out'), err: sink('err') }, vertical);
  rows.columns(titles.map((name) => ({ name, kind: 'text', type: 25 })));
  return { rows, said };
}

function shown(columns?: number, vertical = false): string {
  const screen = columns === undefined ? {} : { columns };
  const { rows, said } = printing(['first_title', 'second_title'], { ...screen, vertical });
  rows.row(['a value that is much longer than its title', 'b']);
  rows.row(['c', null]);
  rows.end();
  return said.out;
}

it('stops where nobody reads on, and says so', () => {
  const { rows, said } = printing(['n']);
  let wanted = 0;
  while (rows.row([String(wanted)])) wanted += 1;
  rows.end();
  expect(wanted).toBe(10_000);
  expect(said.out).toContain('\n(10,000 rows)\n');
  expect(said.err).toContain('only the first 10,000 rows');
});

it('holds no more than some megabytes, and one row in any case', () => {
  const { rows, said } = printing(['text']);
  const large = 'x'.repeat(17 * 1024 * 1024);
  expect([rows.row([large]), rows.row(['y'])]).toEqual([true, false]);
  rows.end();
  expect(said.err).toContain('only the first 1 row');
});

it('prints records, whole, where the titles do not fit the terminal, and wherever they are asked for', () => {
  const first = 'first_title   a value that is much longer than its title\nsecond_title  b\n';
  const second = '─[ 2 ]──────────────────\nfirst_title   c\nsecond_title\n(2 rows)\n';
  expect(shown(24)).toBe(`─[ 1 ]──────────────────\n${first}${second}`);
  // Both titles and the gap between them.
  expect(shown(25)).toMatch(/^first_title\s+second_title\n/);
  expect(shown()).toContain('a value that is much longer than its title  b\n');
  expect(shown(undefined, true)).toContain(first);
  expect(shown(200, true)).toMatch(/^─\[ 1 \]─+\nfirst_title /);
});
