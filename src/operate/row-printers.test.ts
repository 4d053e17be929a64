import { describe, expect, it } from 'vitest';
import type { ResultColumn } from './read-only-query.ts';
import { jsonRows, tableRows } from './sql.ts';

describe('jsonRows', () => {
  function printed(columns: ResultColumn[], ...values: (string | null)[][]): string {
    let text = '';
    const rows = jsonRows({ write: (part) => (text += part) });
    if (columns.length > 0) rows.columns(columns);
    for (const row of values) rows.row(row);
    rows.end();
    return text;
  }

  it('keeps every digit, and quotes values that are no JSON numbers', () => {
    const text = printed(
      [
        { name: 'big', kind: 'number', type: 1700 },
        { name: 'not', kind: 'number', type: 1700 },
        { name: 'at', kind: 'moment', type: 1184 },
        { name: 'doc', kind: 'json', type: 114 },
      ],
      ['12345678901234567890.10', 'NaN', '2026-01-02 03:04:05.678+00', '{"a":\n1}'],
      [null, '-Infinity', 'infinity', 'null'],
    );
    expect(text).toBe(
      '{"rows":[\n{"big":12345678901234567890.10,"not":"NaN","at":"2026-01-02T03:04:05.678Z","doc":{"a": 1}},\n' +
        '{"big":null,"not":"-Infinity","at":"infinity","doc":null}\n]}\n',
    );
  });

  it('prints one object, with or without rows', () => {
    expect(JSON.parse(printed([]))).toEqual({ rows: [] });
    expect(JSON.parse(printed([{ name: 'n', kind: 'number', type: 23 }], ['1']))).toEqual({
      rows: [{ n: 1 }],
    });
  });
});

describe('tableRows', () => {
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

  it('stops after 10,000 rows, and says so', () => {
    const { rows, said } = printing(['n']);
    let wanted = 0;
    while (rows.row([String(wanted)])) wanted += 1;
    rows.end();
    expect(wanted).toBe(10_000);
    expect(said.out).toContain('\n(10,000 rows)\n');
    expect(said.err).toContain('only the first 10,000 rows');
  });

  it('holds some megabytes at most, but always one row', () => {
    const { rows, said } = printing(['text']);
    const large = 'x'.repeat(17 * 1024 * 1024);
    expect([rows.row([large]), rows.row(['y'])]).toEqual([true, false]);
    rows.end();
    expect(said.err).toContain('only the first 1 row');
  });

  it('prints whole records if the titles do not fit the terminal, and on request', () => {
    const first = 'first_title   a value that is much longer than its title\nsecond_title  b\n';
    const second = '─[ 2 ]──────────────────\nfirst_title   c\nsecond_title\n(2 rows)\n';
    expect(shown(24)).toBe(`─[ 1 ]──────────────────\n${first}${second}`);
    // Both titles and the gap between them.
    expect(shown(25)).toMatch(/^first_title\s+second_title\n/);
    expect(shown()).toContain('a value that is much longer than its title  b\n');
    expect(shown(undefined, true)).toContain(first);
    expect(shown(200, true)).toMatch(/^─\[ 1 \]─+\nfirst_title /);
  });
});
