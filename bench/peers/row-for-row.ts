import type pg from 'pg';
import type { Peer } from './peer.ts';

/** Items sent to Postgres at a time. */
const BATCH = 2000;

/** How a peer's rows differ from what the source has; all 0: they are equal. */
export interface RowDifference {
  readonly missing: number;
  /** Rows of which the source has none (any more). */
  readonly extra: number;
  /** Rows with another value in some field. */
  readonly differ: number;
  /** Rows whose item has the same values and other digits: 1.5 for 1.50. Known only where it is kept whole. */
  readonly digits: number;
  /** Fields of which there is no column; where the whole item is kept, there need be none. */
  readonly lost: readonly string[];
}

/**
 * Compares a peer's table with the source's items, as JSON texts. Postgres judges: the whole item must be the same as
 * jsonb, a column the field's text cast to the column's type. Where the whole item is kept, fields need no columns; those
 * that there are must be right, too.
 */
export async function compareRows(client: pg.Client, peer: Peer, truth: readonly string[]): Promise<RowDifference> {
  await client.query(`set timezone = 'UTC'`);
  await client.query('create temp table truth (id bigint primary key, item jsonb) on commit preserve rows');
  try {
    for (let start = 0; start < truth.length; start += BATCH) {
      await client.query(
        `insert into truth select (item ->> 'job_id')::bigint, item from (select t::jsonb as item from unnest($1::text[]) t) s`,
        [truth.slice(start, start + BATCH)],
      );
    }
    await client.query('analyze truth');
    const fields = fieldsOf(truth);
    const columns = await columnsOf(client, peer);
    const pairs = [...fields].flatMap(([field, isNested]) => {
      const column = field === 'job_id' ? undefined : columns.get(field);
      return column === undefined ? [] : [pairOf(column, isNested)];
    });
    const tests = pairs.map(({ differs }) => differs);
    const raw = `p.${quoted(peer.raw ?? '')}`;
    if (peer.raw !== undefined) tests.push(`${raw} is distinct from t.item`);
    const digits = peer.raw === undefined ? 'false' : `${raw} = t.item and ${raw}::text <> t.item::text`;
    const record = ['job_id bigint', ...pairs.map(({ expected }) => expected)].join(', ');
    const [schema, table] = peer.table;
    const { rows } = await client.query<Record<'missing' | 'extra' | 'differ' | 'digits', string>>(
      `select count(*) filter (where p.${quoted(peer.key)} is null) as missing,
         count(*) filter (where ${digits}) as digits,
         count(*) filter (where t.id is null) as extra,
         count(*) filter (where p.${quoted(peer.key)} is not null and t.id is not null and (${tests.join(' or ') || 'false'})) as differ
       from (select * from ${quoted(schema)}.${quoted(table)} where ${peer.live ?? 'true'}) p
         full join truth t on p.${quoted(peer.key)} = t.id
         left join lateral jsonb_to_record(t.item) as s (${record}) on true`,
    );
    const counted = rows[0];
    const lost = [...fields.keys()].filter((field) => field !== 'job_id' && !columns.has(field));
    return {
      missing: Number(counted?.missing),
      extra: Number(counted?.extra),
      differ: Number(counted?.differ),
      digits: Number(counted?.digits),
      lost: peer.raw === undefined ? lost : [],
    };
  } finally {
    await client.query('drop table truth');
  }
}

/** Fields that have a value anywhere, and whether that is an object or an array. */
function fieldsOf(truth: readonly string[]): ReadonlyMap<string, boolean> {
  const fields = new Map<string, boolean>();
  for (const text of truth) {
    for (const [field, value] of Object.entries(JSON.parse(text) as Record<string, unknown>)) {
      if (value !== null) fields.set(field, fields.get(field) === true || typeof value === 'object');
    }
  }
  return fields;
}

interface Column {
  readonly name: string;
  readonly type: string;
}

/** By name. */
async function columnsOf(client: pg.Client, { table }: Peer): Promise<ReadonlyMap<string, Column>> {
  const { rows } = await client.query<Column>(
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = format('%I.%I', $1::text, $2::text)::regclass and attnum > 0 and not attisdropped`,
    [...table],
  );
  return new Map(rows.map((column) => [column.name, column]));
}

/** What a field is expected to be (a column of the source's record), and when the peer's column is something else. */
function pairOf({ name, type }: Column, isNested: boolean): { expected: string; differs: string } {
  const [own, source] = [`p.${quoted(name)}`, `s.${quoted(name)}`];
  if (!isNested && !/^jsonb?$/.test(type)) {
    return { expected: `${quoted(name)} ${type}`, differs: `${own} is distinct from ${source}` };
  }
  // Nested values may be kept as JSON, as its text, or as an array.
  const json = type.endsWith('[]') ? `to_jsonb(${own})` : `${own}::jsonb`;
  return {
    expected: `${quoted(name)} jsonb`,
    differs: `nullif(${json}, 'null') is distinct from nullif(${source}, 'null')`,
  };
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
