import { describe, expect, it } from 'vitest';
import type { ResultColumn } from '../../db/roles/read-only-query.ts';
import { tableRows } from './sql-action.ts';

/** @param columns of the terminal; undefined: it is none */
function terminal(columns?: number) {
  let text = '';
  return {
    write: (part: string | Uint8Array) => (text += String(part)),
    text: () => text,
    ...(columns === undefined ? {} : { isTTY: true, columns }),
  };
}

const column = (name: string): ResultColumn => ({ name, kind: 'text', type: 25 });

function shown(columns: number | undefined, vertical: boolean): string {
  const out = terminal(columns);
  const rows = tableRows({ out, err: terminal() }, vertical);
  rows.columns([column('first_title'), column('second_title')]);
  rows.row(['a value that is much longer than its title', 'b']);
  rows.row(['c', null]);
  rows.end();
  return out.text();
}

describe('tableRows', () => {
  it('stops where nobody reads on, and says so', () => {
    const out = terminal();
    const err = terminal();
    const rows = tableRows({ out, err }, false);
    rows.columns([{ name: 'n', kind: 'number', type: 23 }]);
    let wanted = 0;
    while (rows.row([String(wanted)])) wanted += 1;
    rows.end();
    expect(wanted).toBe(10_000);
    expect(out.text()).toContain('\n(10,000 rows)\n');
    expect(err.text()).toContain('only the first 10,000 rows');
  });

  it('holds no more than some megabytes, and one row in any case', () => {
    const err = terminal();
    const rows = tableRows({ out: terminal(), err }, false);
    rows.columns([column('text')]);
    const large = 'x'.repeat(17 * 1024 * 1024);
    expect([rows.row([large]), rows.row(['y'])]).toEqual([true, false]);
    rows.end();
    expect(err.text()).toContain('only the first 1 row');
  });

  it('prints records, whole, where the titles do not fit the terminal', () => {
    const records =
      '─[ 1 ]──────────────────\nfirst_title   a value that is much longer than its title\nsecond_title  b\n' +
      '─[ 2 ]──────────────────\nfirst_title   c\nsecond_title\n(2 rows)\n';
    expect(shown(24, false)).toBe(records);
    // Both titles and the gap between them.
    expect(shown(25, false)).toMatch(/^first_title\s+second_title\n/);
    expect(shown(undefined, false)).toContain('a value that is much longer than its title  b\n');
  });

  it('prints records wherever they are asked for', () => {
    expect(shown(undefined, true)).toContain(
      'first_title   a value that is much longer than its title\nsecond_title  b\n',
    );
    expect(shown(200, true)).toMatch(/^─\[ 1 \]─+\nfirst_title /);
  });
});
