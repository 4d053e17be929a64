import { sql } from 'kysely';
import type { MigratedDatabase } from '../support/databases/migrated-database.ts';
import type { TestSandbox } from '@research-mirror/sandbox/testing/sandbox';

/** An emulated service, and the database that its users are mirrored into. */
interface Mirrored {
  readonly sandbox: TestSandbox;
  readonly database: MigratedDatabase;
}

const KEYS = {
  research_jobs: ['job_id', 'bigint'],
  bulk_research_jobs: ['bulk_job_id', 'bigint'],
  lists: ['list_id', 'bigint'],
  list_items: ['id', 'text'],
  watchlist: ['id', 'text'],
} as const;
type ListName = keyof typeof KEYS;

/**
 * What an item must become (docs/tables.md, "Columns for fields"; docs/design/open-questions.md, "Values"); written
 * down here independently of the program.
 * @returns its key where it must be a row, undefined where it must be quarantined
 */
function rowKey(source: string, collection: ListName): string | undefined {
  const [field, type] = KEYS[collection];
  // More than PostgreSQL's numeric can hold, or nests deeper than its parser goes.
  if (source.includes('1e200000') || source.includes('['.repeat(20_000))) return undefined;
  const spelled = new RegExp(`^\\{"${field}":("(?:[^"\\\\]|\\\\.)*"|-?\\d+)[,}]`).exec(source)?.[1];
  if (spelled === undefined) return undefined;
  const key = spelled.startsWith('"') ? (JSON.parse(spelled) as string) : spelled;
  if (type === 'bigint') return /^-?\d+$/.test(key) && fits64Bits(BigInt(key)) ? String(BigInt(key)) : undefined;
  const usable = key !== '' && key.length <= 1024 && !key.includes('\0') && key.isWellFormed();
  return usable ? key : undefined;
}

function fits64Bits(integer: bigint): boolean {
  return BigInt.asIntN(64, integer) === integer;
}

/** The item's text as `jsonb` can hold it; the same text where nothing has to be replaced. */
function storable(source: string): string {
  return source.replaceAll('\\u0000', '\\ufffd').replaceAll('half \\ud83d', 'half \\ufffd');
}

/**
 * Where the mirror of a user differs from what its lists answer now, one line each: rows digit by digit, their verbatim
 * text where it had to be kept, every column, and the quarantine. [] when it holds exactly what it must.
 */
export async function hostileDifferences(service: Mirrored, user: number): Promise<string[]> {
  const { control } = service.sandbox;
  const found: string[] = [];
  for (const collection of ['research_jobs', 'bulk_research_jobs', 'lists', 'watchlist'] as const) {
    found.push(...(await compareScope(service, user, collection, '', await control.truth({ collection, user }))));
  }
  const lists = await control.truth({ collection: 'lists', user });
  for (const list of lists.map((source) => rowKey(source, 'lists'))) {
    if (list === undefined) continue;
    const truth = await control.truth({ collection: 'list_items', user, list });
    found.push(...(await compareScope(service, user, 'list_items', list, truth)));
  }
  for (const collection of Object.keys(KEYS) as ListName[]) {
    found.push(...(await compareColumns(service, user, collection)));
  }
  return found;
}

async function compareScope(
  { database }: Mirrored,
  user: number,
  collection: ListName,
  list: string,
  truth: readonly string[],
): Promise<string[]> {
  const keyed = truth.map((source) => ({ source, key: rowKey(source, collection) }));
  const rows = keyed.filter((item): item is { source: string; key: string } => item.key !== undefined);
  const parameter = rows.map(({ source, key }) => {
    const raw = storable(source);
    return { key, raw, verbatim: raw === source ? null : source };
  });
  const ofList = list === '' ? sql`` : sql`and list_id = ${list}::bigint`;
  const { rows: wrong } = await sql<{ key: string; what: string }>`
    select key, case when m.raw is null then 'is no row' when t.raw is null then 'is a row of no item'
      when m.raw <> t.raw::jsonb::text then 'has another _raw' else 'has another verbatim text' end as what
    from unnest(${parameter.map((item) => item.key)}::text[], ${parameter.map((item) => item.raw)}::text[],
      ${parameter.map((item) => item.verbatim)}::text[]) as t (key, raw, verbatim)
    full join (select ${sql.id(KEYS[collection][0])}::text as key, _raw::text as raw, _verbatim as verbatim
      from mirror.${sql.id(collection)} where _user_id = ${user} ${ofList} and _deleted_at is null) as m using (key)
    where m.raw is distinct from t.raw::jsonb::text or m.verbatim is distinct from t.verbatim limit 3`.execute(
    database.kysely,
  );
  const { rows: kept } = await sql<{ item: string }>`
    select item from mirror.quarantine where _user_id = ${user} and collection = ${collection} and parent = ${list}`.execute(
    database.kysely,
  );
  const unfit = keyed.filter((item) => item.key === undefined).map(({ source }) => source);
  const place = `${collection}${list === '' ? '' : ` of list ${list}`}`;
  const inQuarantine = new Set(kept.map(({ item }) => item));
  return [
    ...wrong.map(({ key, what }) => `${place}: ${key} ${what}`),
    ...unfit
      .filter((source) => !inQuarantine.has(source))
      .map((source) => `${place}: not quarantined: ${short(source)}`),
    ...[...inQuarantine]
      .filter((source) => !unfit.includes(source))
      .map((source) => `${place}: quarantined without need: ${short(source)}`),
  ];
}

function short(text: string): string {
  return text.slice(0, 100);
}

/** What a column must hold of a field's value `v`: NULL where it does not fit. */
const VALUE: Readonly<Record<string, string>> = {
  jsonb: `nullif(v, 'null')::text`,
  text: `case when jsonb_typeof(v) = 'string' then v #>> '{}' end`,
  numeric: `case when jsonb_typeof(v) = 'number' then (v #>> '{}') end`,
  boolean: `case when jsonb_typeof(v) = 'boolean' then (v #>> '{}')::boolean::text end`,
  bigint: `case when jsonb_typeof(v) = 'number' and v #>> '{}' ~ '^-?\\d{1,18}$' then v #>> '{}' end`,
  timestamptz: `case when jsonb_typeof(v) = 'string' and v #>> '{}' ~
    '^[1-9]\\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])([T ]([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)?)?$'
    then (v #>> '{}')::timestamptz::text end`,
};

async function compareColumns({ database }: Mirrored, user: number, collection: ListName): Promise<string[]> {
  const { rows: columns } = await sql<{ field: string; name: string; type: string }>`
    select field, column_name as name, type from mirror.columns
    where collection = ${collection} and column_name is not null
      and column_name not in ('job_id', 'bulk_job_id', 'list_id', 'id')`.execute(database.kysely);
  const tests = columns.map(
    ({ field, name, type }) => sql`
      when ${sql.id(name)}::text is distinct from
        (select ${sql.raw(VALUE[type] ?? 'null')} from (select _raw -> ${field}::text as v) as x) then ${name}::text`,
  );
  if (tests.length === 0) return [];
  return database.kysely.transaction().execute(async (trx) => {
    await sql`set local timezone = 'UTC'`.execute(trx);
    const { rows } = await sql<{ what: string; raw: string }>`
      select what, left(_raw::text, 100) as raw from (
        select _raw, case ${sql.join(tests, sql` `)} end as what
        from mirror.${sql.id(collection)} where _user_id = ${user} and _deleted_at is null) as compared
      where what is not null limit 3`.execute(trx);
    return rows.map(({ what, raw }) => `${collection}: the column ${what} is not its field in ${raw}`);
  });
}
