import { expect, it } from 'vitest';
import { type ResultColumn, StatementRefused, watchMessages } from './read-only-query.ts';
import { explainRefusal, jsonRows, tableRows } from './sql.ts';
import pg from 'pg';
import { array, assert, constant, integer, oneof, property } from 'fast-check';
import { PassThrough } from 'node:stream';

function printed(columns: ResultColumn[], ...values: (string | null)[][]): string {
  let text = '';
  const rows = jsonRows({ write: (part) => (text += part) });
  if (columns.length > 0) rows.columns(columns);
  for (const row of values) rows.row(row);
  rows.end();
  return text;
}

it('jsonRows keeps every digit, and quotes values that are no JSON numbers', () => {
  const columns: ResultColumn[] = [
    { name: 'big', kind: 'number', type: 1700 },
    { name: 'not', kind: 'number', type: 1700 },
    { name: 'at', kind: 'moment', type: 1184 },
    { name: 'doc', kind: 'json', type: 114 },
  ];
  const first = ['12345678901234567890.10', 'NaN', '2026-01-02 03:04:05.678+00', '{"a":\n1}'];
  expect(printed(columns, first, [null, '-Infinity', 'infinity', 'null'])).toBe(
    '{"rows":[\n{"big":12345678901234567890.10,"not":"NaN","at":"2026-01-02T03:04:05.678Z","doc":{"a": 1}},\n' +
      '{"big":null,"not":"-Infinity","at":"infinity","doc":null}\n]}\n',
  );
});

it('jsonRows prints one object, with or without rows', () => {
  expect(JSON.parse(printed([]))).toEqual({ rows: [] });
  const one = printed([{ name: 'n', kind: 'number', type: 23 }], ['1']);
  expect(JSON.parse(one)).toEqual({ rows: [{ n: 1 }] });
});

/** @param columns of the terminal; undefined: it is none */
function printing(titles: readonly string[], columns?: number, vertical = false) {
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
  const { rows, said } = printing(['first_title', 'second_title'], columns, vertical);
  rows.row(['a value that is much longer than its title', 'b']);
  rows.row(['c', null]);
  rows.end();
  return said.out;
}

it('tableRows stops after 10,000 rows, and says so', () => {
  const { rows, said } = printing(['n']);
  let wanted = 0;
  while (rows.row([String(wanted)])) wanted += 1;
  rows.end();
  expect(wanted).toBe(10_000);
  expect(said.out).toContain('\n(10,000 rows)\n');
  expect(said.err).toContain('only the first 10,000 rows');
});

it('tableRows holds some megabytes at most, but always one row', () => {
  const { rows, said } = printing(['text']);
  const large = 'x'.repeat(17 * 1024 * 1024);
  expect([rows.row([large]), rows.row(['y'])]).toEqual([true, false]);
  rows.end();
  expect(said.err).toContain('only the first 1 row');
});

it('tableRows prints whole records if the titles do not fit the terminal, and on request', () => {
  const first = 'first_title   a value that is much longer than its title\nsecond_title  b\n';
  const second = '─[ 2 ]──────────────────\nfirst_title   c\nsecond_title\n(2 rows)\n';
  expect(shown(24)).toBe(`─[ 1 ]──────────────────\n${first}${second}`);
  // Both titles and the gap between them.
  expect(shown(25)).toMatch(/^first_title\s+second_title\n/);
  expect(shown()).toContain('a value that is much longer than its title  b\n');
  expect(shown(undefined, true)).toContain(first);
  expect(shown(200, true)).toMatch(/^─\[ 1 \]─+\nfirst_title /);
});

function refusal(message: string, fields: Partial<pg.DatabaseError>): StatementRefused {
  return new StatementRefused(Object.assign(new pg.DatabaseError(message, 0, 'error'), fields));
}

it('explainRefusal marks the position, counted in characters and below tabs', () => {
  const refused = refusal('column "wrong" does not exist', { code: '42703', position: '14' });
  expect(explainRefusal(refused, "select '😀',\n\twrong from t")).toBe(
    'research-mirror: column "wrong" does not exist (42703)\nline 2: \twrong from t\n        \t^\n',
  );
});

it('explainRefusal repeats Postgres’s hint, and explains that only one statement is accepted', () => {
  const hinted = refusal('no', { code: '42P01', hint: 'try that' });
  expect(explainRefusal(hinted, 'x')).toContain('hint: try that');
  const several = refusal('cannot insert multiple commands into a prepared statement', { code: '42601' });
  expect(explainRefusal(several, 'select 1; select 2')).toContain('more than one statement; run one at a time');
});

function message(bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes + 5, 'D');
  buffer.writeUInt32BE(bytes + 4, 1);
  return buffer;
}

/** What is called for messages that come in pieces of the given lengths, again and again. */
function refused(sizes: readonly number[], pieces: readonly number[], most: number): number[] {
  const stream = new PassThrough();
  const heard: number[] = [];
  watchMessages(stream, most, (bytes) => heard.push(bytes));
  const all = Buffer.concat(sizes.map(message));
  for (let at = 0, n = 0; at < all.length; n += 1) {
    const length = pieces[n % pieces.length] ?? 1;
    stream.emit('data', all.subarray(at, at + length));
    at += length;
  }
  return heard;
}

it('the first message above the bound is reported by its announced size, however the bytes are split', () => {
  const sizes = array(oneof(integer({ min: 0, max: 40 }), constant(100)), { maxLength: 12 });
  assert(
    property(sizes, array(integer({ min: 1, max: 17 }), { minLength: 1 }), (messages, pieces) => {
      expect(refused(messages, pieces, 40)).toEqual(messages.filter((size) => size > 40).slice(0, 1));
    }),
  );
});
