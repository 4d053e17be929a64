import fc from 'fast-check';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runs } from '../../../test/support/effort.ts';
import { openDuckDb, quoted, type DuckDb } from '../../../test/support/export/duckdb.ts';
import { fileTarget } from './export-target.ts';
import { ParquetRows } from './parquet-rows.ts';
import { RowSpool, type TextRow } from './row-spool.ts';

const folder = mkdtempSync(join(tmpdir(), 'research-mirror-parquet-'));
let duckDb: DuckDb;
beforeAll(async () => {
  duckDb = await openDuckDb();
});
afterAll(() => {
  duckDb.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Kind {
  readonly oid: number;
  /** Postgres's own text form. */
  readonly values: fc.Arbitrary<string>;
  /** What DuckDB is asked for, where it reads the type of that name; else the column is read as text. */
  readonly as?: Readonly<Record<string, (column: string) => string>>;
  /** A value as that expression answers it, where it is not the text itself. */
  readonly read?: (text: string, type: string) => string;
}

const digit = fc.nat(9).map(String);
const digits = (max: number): fc.Arbitrary<string> =>
  fc
    .string({ unit: digit, minLength: 1, maxLength: max, size: 'max' })
    .map((text) => text.replace(/^0+(?=\d)/, ''));
const numeric = (whole: number, fraction: number): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.boolean(),
      digits(whole),
      fc.option(fc.string({ unit: digit, minLength: 1, maxLength: fraction, size: 'max' })),
    )
    .map(([negative, whole, fraction]) => {
      const text = fraction === null ? whole : `${whole}.${fraction}`;
      return negative && /[1-9]/.test(text) ? `-${text}` : text;
    });
const moments = fc
  .tuple(
    fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59Z'),
      noInvalidDate: true,
    }),
    fc.nat(999_999),
  )
  .map(([date, micros]) => {
    const [day = '', time = ''] = date.toISOString().slice(0, 19).split('T');
    const fraction = micros === 0 ? '' : `.${String(micros).padStart(6, '0').replace(/0+$/, '')}`;
    return `${day} ${time}${fraction}+00`;
  });
const microsecondsOf = (text: string): string => {
  const [, day = '', time = '', fraction = ''] = /^(\S+) ([\d:]+)(?:\.(\d+))?\+00$/.exec(text) ?? [];
  return String(BigInt(Date.parse(`${day}T${time}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0')));
};
/** What Postgres can store: no U+0000, no lone surrogates. */
const texts = fc
  .string({ unit: 'binary', maxLength: 30 })
  .map((text) => text.toWellFormed().replaceAll('\0', ''));

const KINDS: readonly Kind[] = [
  { oid: 16, values: fc.constantFrom('t', 'f'), read: (text) => (text === 't' ? 'true' : 'false') },
  { oid: 20, values: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String) },
  { oid: 23, values: fc.integer().map(String) },
  { oid: 25, values: texts },
  { oid: 3802, values: fc.jsonValue().map((value) => JSON.stringify(value)) },
  // An array: its text.
  { oid: 1009, values: texts.map((text) => `{${JSON.stringify(text)}}`) },
  {
    oid: 17,
    values: fc.uint8Array({ maxLength: 20 }).map((bytes) => `\\x${Buffer.from(bytes).toString('hex')}`),
    as: { BLOB: (column) => `'\\x' || lower(hex(${column}))` },
  },
  {
    oid: 1082,
    values: fc.oneof({ weight: 200, arbitrary: moments.map((text) => text.slice(0, 10)) }, odd('infinity')),
  },
  {
    oid: 1184,
    values: fc.oneof(
      { weight: 200, arbitrary: moments },
      odd('infinity', '0044-03-15 12:00:00+00 BC', '10000-01-01 00:00:00+00'),
    ),
    as: { 'TIMESTAMP WITH TIME ZONE': (column) => `epoch_us(${column})` },
    read: (text, type) => (type === 'VARCHAR' ? text : microsecondsOf(text)),
  },
  ...[
    [19, 18],
    [38, 2],
    [45, 45],
  ].map(([whole = 0, fraction = 0]) => ({
    oid: 1700,
    values: fc.oneof({ weight: 200, arbitrary: numeric(whole, fraction) }, odd('NaN', '-Infinity')),
    read: (text: string, type: string) => {
      const [, scale] = /^DECIMAL\(38,(\d+)\)$/.exec(type) ?? [];
      if (scale === undefined) return text;
      const [integer = '', behind = ''] = text.split('.');
      if (scale === '0') return integer;
      // With no digit to spare before the point DuckDB writes none.
      const before = scale === '38' ? integer.replace('0', '') : integer;
      return `${before}.${behind.padEnd(Number(scale), '0')}`;
    },
  })),
];

/** Values that no type of Parquet takes: a whole column becomes text by one of them. */
function odd(...values: string[]): { weight: number; arbitrary: fc.Arbitrary<string> } {
  return { weight: 1, arbitrary: fc.constantFrom(...values) };
}

interface World {
  readonly columns: readonly Kind[];
  readonly rows: readonly TextRow[];
}

const worlds: fc.Arbitrary<World> = fc
  .array(fc.constantFrom(...KINDS), { minLength: 1, maxLength: 6 })
  .chain((columns) =>
    fc.record({
      columns: fc.constant(columns),
      rows: fc.array(fc.tuple(...columns.map(({ values }) => fc.option(values, { freq: 5 }))), {
        maxLength: 40,
      }),
    }),
  );

async function write(path: string, oids: readonly number[], rows: readonly TextRow[]): Promise<void> {
  const target = await fileTarget(path);
  const spool = await RowSpool.open(folder, { bytes: 1_000_000, rows: 7 });
  try {
    const parquet = new ParquetRows(target, spool, new AbortController().signal, 'tests');
    parquet.columns(oids.map((type, index) => ({ name: `c.${index} "x"`, kind: 'text', type })));
    for (const row of rows) parquet.row(row);
    await parquet.end();
    await target.finish();
  } finally {
    await spool.close();
    await target.close();
  }
}

describe('a Parquet file', () => {
  it('has every row in its order and every digit, as DuckDB reads it, and finds each value again', async () => {
    const path = join(folder, 'property.parquet');
    await fc.assert(
      fc.asyncProperty(worlds, async ({ columns, rows }) => {
        await write(
          path,
          columns.map(({ oid }) => oid),
          rows,
        );
        const types = Object.values(await duckDb.typesOf(path));
        const asked = columns.map(({ as }, index) => {
          const column = `"c.${index} ""x"""`;
          return `(${as?.[types[index] ?? '']?.(column) ?? column})::varchar`;
        });
        const expected = rows.map((row) =>
          row.map((text, index) =>
            text === null ? null : (columns[index]?.read?.(text, types[index] ?? '') ?? text),
          ),
        );
        expect(await duckDb.ask(`select ${asked.join(', ')} from ${quoted(path)}`)).toEqual(expected);
        // A reader leaves out the row groups whose least and greatest values exclude what it looks for.
        const looked = rows[0]?.findIndex((value) => value !== null) ?? -1;
        if (looked === -1) return;
        const column = `"c.${looked} ""x"""`;
        const [[found] = []] = await duckDb.ask(
          `with first as (select ${column} as v from ${quoted(path)} limit 1)
            select count(*) from ${quoted(path)} where ${column} = (select v from first)`,
        );
        const value = expected[0]?.[looked];
        expect(Number(found)).toBe(expected.filter((row) => row[looked] === value).length);
      }),
      { numRuns: runs(60, 2_000) },
    );
  });

  /** A writer that gathers equal values may take them for the same. */
  const zeros = fc.constantFrom(0, -0);

  it('keeps every bit of a floating-point number', async () => {
    const path = join(folder, 'float.parquet');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.oneof(fc.double(), zeros), fc.oneof(fc.float(), zeros)), {
          minLength: 1,
          maxLength: 50,
        }),
        async (pairs) => {
          const text = (number: number): string => (Object.is(number, -0) ? '-0' : String(number));
          await write(
            path,
            [701, 700],
            pairs.map((pair) => pair.map(text)),
          );
          const read = await duckDb.ask(`select * from ${quoted(path)}`);
          expect(read).toHaveLength(pairs.length);
          for (const [row, pair] of pairs.entries()) {
            for (const [column, number] of pair.entries()) expect(read[row]?.[column]).toBe(number);
          }
        },
      ),
      { numRuns: runs(20, 500) },
    );
  });

  it('may have no row', async () => {
    const path = join(folder, 'empty.parquet');
    await write(path, [1700, 1184, 25], []);
    expect(await duckDb.ask(`select count(*) from ${quoted(path)}`)).toEqual([[0n]]);
    expect(Object.values(await duckDb.typesOf(path))).toEqual([
      'DECIMAL(38,0)',
      'TIMESTAMP WITH TIME ZONE',
      'VARCHAR',
    ]);
  });
});
