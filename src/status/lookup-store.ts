import { type RawBuilder, sql } from 'kysely';
import { dataTable, DOMAIN_COLUMN, keyColumns, type Table, tableOf } from '../mirror/table.ts';
import { collection, type CollectionName, COLLECTIONS, type KeyType } from '../model/collections.ts';
import { domainOf } from '../model/values.ts';
import { rowsOfAnswer } from '../model/hint.ts';
import { MAX_TEXT_KEY_BYTES, readKey } from '../model/key.ts';
import { databaseTime, type Db } from '../postgres/db.ts';

/** Most results of a search, and most rows of a list. */
export const MOST_FOUND = 50;
/** Most rows that a list of one state looks at: no index has states, and a million rows may not have a rare one. */
const LOOKED_AT = 5_000;
/** Rows that `latestRows` gives. */
const LATEST = 20;

/** Operations whose target is a row (specification 4.4), and its table. */
export const TARGETS: Record<string, CollectionName> = { sequence: 'research_jobs', list_analyze: 'lists' };

/**
 * Searches all accounts for the query as ID, domain, e-mail address or idempotency key. Live rows come before deleted
 * ones, the last changed first.
 * @returns `at`: the database's time; `more`: results are left out
 * @throws DatabaseUnavailable, also if it takes too long
 */
export async function searchMirror(
  db: Db,
  query: string,
): Promise<{ readonly at: string; readonly found: readonly Hit[]; readonly more: boolean }> {
  const terms = searchTerms(query);
  const places = [...rowsWith(db, terms), ...othersWith(db, terms)];
  return lookupSnapshot(db, async (trx, at) => {
    const { rows } = await trx.sql<ResultRow>`
      select f.* from (${sql.join(places, sql` union all `)}) as f
      order by f.state is not distinct from 'deleted', f.at desc nulls last`;
    // A row may match by its ID and by its domain.
    const alike = Map.groupBy(rows.map(foundIn), ({ by, userId, row }) => JSON.stringify([by, userId, row]));
    const found = [...alike.values()].flatMap(([first]) => first ?? []);
    return { at, found: found.slice(0, MOST_FOUND), more: found.length > MOST_FOUND };
  });
}

type SearchTerms = ReturnType<typeof searchTerms>;

/** Readings of the query; null: it can't be that. `texts` are IDs, with the white space around them and without. */
function searchTerms(query: string) {
  const text = query.trim();
  const email = /^[^\s@/\0]+@[^\s@/\0]+$/.test(text) ? text : null;
  return {
    texts: [...new Set([text, query])].filter((each) => keyOf('text', each) !== undefined),
    integer: keyOf('bigint', text) ?? null,
    domain: email === null ? (domainOf(text) ?? null) : null,
    email,
  };
}

/** Rows by ID, and by domain: an index has live ones, another one deleted ones. */
function rowsWith(db: Db, { integer, domain, texts }: SearchTerms): RawBuilder<unknown>[] {
  const [text = null, other = text] = texts;
  return COLLECTIONS.flatMap((entry) => {
    if (entry.kind === 'single') return [];
    const table = tableOf(db.schema, entry.name);
    const key = sql.id('r', entry.keyField);
    // Equality uses the unique index: for any(…) PostgreSQL 15 may read a whole list.
    const isKey =
      entry.keyType === 'bigint' ? sql`${key} = ${integer}::bigint` : sql`(${key} = ${text} or ${key} = ${other})`;
    const rows = (which: RawBuilder<unknown>): RawBuilder<unknown> =>
      sql`select ${shown(table)} from ${dataTable(table)} as r where r._user_id = a._user_id and ${which}`;
    const inLists = entry.parent !== undefined;
    const byId = inEachAccount(db, rows(inLists ? sql`${isKey} and r.list_id = p.list_id` : isKey), inLists);
    if (domain === null || entry.domainFields === undefined) return [byId];
    const ofDomain = sql`r.${sql.id(DOMAIN_COLUMN)} = ${domain} and r._deleted_at`;
    const byDomain = [sql`${ofDomain} is null`, sql`${ofDomain} is not null`];
    return [byId, ...byDomain.map((which) => inEachAccount(db, rows(which)))];
  });
}

/** Accounts, submissions and events. */
function othersWith(db: Db, { integer, email, texts }: SearchTerms): RawBuilder<unknown>[] {
  const account = tableOf(db.schema, 'account');
  const ids = sql`${[...texts]}::text[]`;
  const submissions = sql`
    select s._user_id::text as "userId", 'submission ' || s.submission_id as by, null as collection, s.target_id as key,
      s.operation as name, s.state, s.created_at as at, coalesce(s._verbatim, s.response::text) as response
    from ${db.table('submissions')} as s`;
  return [
    sql`(select ${shown(account)} from ${dataTable(account)} as r
      where r._user_id = ${integer}::bigint or lower(r.email) = lower(${email}) limit ${MOST_FOUND + 1})`,
    sql`(${submissions} where s.submission_id = ${integer}::bigint limit ${MOST_FOUND + 1})`,
    inEachAccount(db, sql`${submissions} where s._user_id = a._user_id and s.idempotency_key = any(${ids})`),
    inEachAccount(
      db,
      sql`select e._user_id::text as "userId", 'event ' || e.id as by, e._collection as collection, e._key as key,
          e.type as name, null as state, e.received_at as at, null as response
        from ${db.table('events')} as e where e._user_id = a._user_id and e.id = any(${ids})`,
    ),
  ];
}

/**
 * Primary keys begin with the account, so each account's rows are looked up apart, and items in each of its lists `p`.
 * The inner limit keeps the planner from joining the whole table to the accounts.
 */
function inEachAccount(db: Db, source: RawBuilder<unknown>, inLists = false): RawBuilder<unknown> {
  const lists = sql`cross join lateral (
    select l.list_id from ${db.table('lists')} as l where l._user_id = a._user_id) as p`;
  return sql`(select f.* from ${db.stateTable('account')} as a ${inLists ? lists : sql``}
    cross join lateral (${source} limit ${MOST_FOUND + 1}) as f limit ${MOST_FOUND + 1})`;
}

/** The last changed rows of a collection. @returns `next`: the `before` of the next part @throws DatabaseUnavailable */
export async function newestRows(
  db: Db,
  filter: Omit<RowAddress, 'key'> & Readonly<Record<'state' | 'before', string | undefined>>,
): Promise<{ readonly at: string; readonly found: readonly Hit[]; readonly next: string | undefined }> {
  const { userId, state, before } = filter;
  const most = state === undefined ? MOST_FOUND + 1 : LOOKED_AT;
  return lookupSnapshot(db, async (trx, at) => {
    const { rows } = await trx.sql<ResultRow & { readonly changeId: string }>`
      ${newestOf(tableOf(db.schema, filter.collection), userId, most, before)}`;
    const matching = state === undefined ? rows : rows.filter((row) => row.state === state);
    const first = matching.slice(0, MOST_FOUND);
    const last = matching.length > MOST_FOUND ? first.at(-1) : rows[most - 1];
    return { at, found: first.map(foundIn), next: last?.changeId };
  });
}

/** The account's last changed rows, the newest first: from the end of each table's index by `_change_id`. */
export async function latestRows(db: Db, userId: string): Promise<Hit[]> {
  const parts = COLLECTIONS.map(({ name }) => newestOf(tableOf(db.schema, name), userId, LATEST));
  const { rows } = await db.sql<ResultRow>`
    select v.* from (${sql.join(parts, sql` union all `)}) as v order by v."changeId" desc limit ${LATEST}`;
  return rows.map(foundIn);
}

function newestOf(table: Table, userId: string, most: number, before?: string): RawBuilder<unknown> {
  return sql`(select ${shown(table)}, r._change_id as "changeId" from ${dataTable(table)} as r
    where r._user_id = ${userId}::bigint ${before === undefined ? sql`` : sql`and r._change_id < ${before}::bigint`}
    order by r._change_id desc limit ${most})`;
}

/**
 * Runs `work` on one snapshot. A statement may take three seconds, and reads tables by their indexes, whatever the
 * statistics say: lookups need few rows of many. `at` is the database's time.
 * @throws DatabaseUnavailable if a statement takes longer
 */
export function lookupSnapshot<T>(db: Db, work: (trx: Db, at: string) => Promise<T>): Promise<T> {
  return db.snapshot(async (trx) => {
    await trx.raw(
      'set local statement_timeout = 3000; set local jit = off; set local enable_seqscan = off; ' +
        'set local enable_hashjoin = off; set local enable_mergejoin = off',
    );
    return work(trx, (await databaseTime(trx)).toISOString());
  });
}

/** A result of the statements; `response`: of a submission. */
type ResultRow = Omit<Hit, 'row' | 'at'> &
  Readonly<Record<'collection' | 'key' | 'response', string | null>> & { readonly at: Date };

/** Columns of `ResultRow` from a row `r` of the table; a company's row has a domain (docs/tables.md, "Companies"). */
function shown(table: Table): RawBuilder<unknown> {
  const [user = '', ...key] = keyColumns(table);
  const parts = (key.length === 0 ? [user] : key).map((column) => sql`${sql.id('r', column)}::text`);
  const keyText = sql.join(parts, sql` || ':' || `);
  const domain = 'domainFields' in collection(table.name) ? sql.id('r', DOMAIN_COLUMN) : sql`null`;
  return sql`r._user_id::text as "userId", null as by, ${table.name} as collection, ${keyText} as key,
    nullif(concat_ws(', ', left(coalesce(r._raw ->> 'name', r._raw ->> 'email'), 200), ${domain}), '') as name,
    case when r._deleted_at is null then left(r._raw ->> 'status', 100) else 'deleted' end as state,
    coalesce(r._deleted_at, r._changed_at) as at, null as response`;
}

/** A submission leads to the row that its answer names, else to its target. */
function foundIn({ userId, by, name, state, at, collection, key, response }: ResultRow): Hit {
  const named = response === null ? undefined : rowsOfAnswer(response).find((each) => each.key !== '');
  const table = named?.collection ?? collection ?? TARGETS[name ?? ''] ?? '';
  const row = rowAddress(userId, table, named?.key ?? key ?? '');
  return { userId, by, row, name, state, at: at.toISOString() };
}

/** Characters shown of a value, and of the whole item. */
const VALUE = 2_000;
const RAW = 20_000;
/** Most entries of a story, and most lines: a version has one line for each field. */
const ENTRIES = 100;
const LINES = 2_000;

/** On one snapshot. @returns undefined if nothing has the address @throws DatabaseUnavailable, also if it is slow */
export async function readRow(db: Db, row: RowAddress): Promise<RowStory | undefined> {
  return lookupSnapshot(db, async (trx, at) => {
    const stored = await storedRow(trx, row);
    const timeline = await timelineOf(trx, row, stored?.state !== 'deleted');
    if (stored === undefined && timeline.every(({ by }) => by === 'daemon')) return undefined;
    const shown = { at, timeline: timeline.slice(0, ENTRIES), more: timeline.length > ENTRIES };
    return { ...shown, ...(stored ?? { state: 'absent', columns: [], raw: null }) };
  });
}

/** The row, or its last image, which MIRROR_DELETES=hard leaves in history. */
async function storedRow(db: Db, row: RowAddress) {
  const table = tableOf(db.schema, row.collection);
  const key = [row.userId, ...keyParts(row)];
  const isRow = sql.join(
    keyColumns(table).map((column, n) => sql`${sql.id('r', column)} = ${key[n] ?? null}`),
    sql` and `,
  );
  // In the order of its columns, the mirror's own ones last.
  const { rows } = await db.sql<Pick<RowStory, 'state' | 'columns' | 'raw'>>`
    select case when f.live then 'live' else 'deleted' end as state,
      ${cut(sql`coalesce(f._verbatim, jsonb_pretty(f._raw))`, RAW)} as raw, (
        select json_agg(json_build_object('name', v.key, 'value', ${cut(sql`v.value`, VALUE)})
          order by starts_with(v.key, '_'), v.place)
        from json_each_text(f.row) with ordinality as v (key, value, place)
        where v.value is not null and v.key <> all('{_raw,_verbatim,_hash}')) as columns
    from (
      select row_to_json(r.*) as row, r._raw, r._verbatim, r._deleted_at is null as live, 0 as removed
      from ${dataTable(table)} as r where ${isRow}
      union all
      (select row_to_json(r.*), r._raw, r._verbatim, false, 1
       from ${dataTable(table, '_history')} as r where ${isRow} and r._op = 'delete' order by r._change_id desc limit 1)) as f
    order by f.removed limit 1`;
  return rows[0];
}

/**
 * `row_story` and the daemon's own state, which callers of that function can't see. The newest first, fields of one
 * change together.
 * @param isRead includes the next readings of its collection, which a row that is gone does not have
 */
async function timelineOf(db: Db, row: RowAddress, isRead: boolean): Promise<RowStory['timeline']> {
  const { userId, collection, key } = row;
  const most = ENTRIES + 1;
  const [own, list = ''] = keyParts(row).toReversed();
  const ofRow = sql`x._user_id = ${userId}::bigint and x.collection = ${collection}`;
  // An item's own date may lie in a year that ISO 8601 can't write with four digits.
  const { rows } = await db.sql<RowStory['timeline'][number]>`
    select to_json(s.at) as at, s.what, s.by, (array_agg(s.after) filter (where s.field is null))[1] as more,
      coalesce(json_agg(json_build_object('field', left(s.field, 200), 'before', ${cut(sql`s.before::text`, VALUE)},
        'after', ${cut(sql`s.after::text`, VALUE)}) order by s.field) filter (where s.field is not null), '[]') as fields
    from (
      (select * from ${db.table('row_story')}(${userId}::bigint, ${collection}, ${key}, ${most}::bigint) with ordinality
         as r (at, what, field, before, after, by, place)
       where r.at between '0002-01-01' and '9999-01-01' order by r.place desc limit ${LINES})
      union all
      select x.at, 'suspected', null, null, jsonb_build_object('kind', x.kind, 'proven', x.proven_at is not null,
        'refused', x.refused), 'daemon', null
      from ${db.stateTable('candidate')} as x where ${ofRow} and x.parent = ${list} and x.key = ${own ?? ''}
      union all
      select x.due_at, 'hinted', null, null, null, 'daemon', null
      from ${db.stateTable('hint')} as x where ${ofRow} and x.parent = ${list} and x.key in (${own ?? ''}, '')
      union all
      select e.at, e.what, null, null, null, 'daemon', null
      from ${db.table('_collections')} as x
        cross join lateral (values (x.next_poll_at, 'next_poll'), (x.next_full_at, 'next_full')) as e (at, what)
      where ${ofRow} and ${isRead} and e.at is not null) as s
    group by s.at, s.what, s.by, case when s.field is null then s.place end
    order by s.at desc, max(s.place) desc limit ${most}`;
  return rows;
}

function cut(text: RawBuilder<unknown>, characters: number): RawBuilder<unknown> {
  return sql`case when length(${text}) <= ${characters} then ${text}
    else left(${text}, ${characters}) || '… (' || length(${text}) || ' characters)' end`;
}

export interface RowAddress {
  /** Decimal digits of a bigint. */
  readonly userId: string;
  readonly collection: CollectionName;
  /** As in the view `changes`: `<list_id>:<id>` for a list's item, `_user_id` for `account`. */
  readonly key: string;
}

/**
 * A search result, or a row of a list. `by`: what names the row (`event evt_1`, `submission 5`), null: it is the row
 * itself; `name`: the item's own; `state`: `deleted`, or its own status; `at`: when it last changed, was deleted,
 * received or queued.
 */
export interface Hit
  extends Readonly<Record<'userId' | 'at', string>>, Readonly<Record<'by' | 'name' | 'state', string | null>> {
  /** Undefined if no such row can exist. */
  readonly row: RowAddress | undefined;
}

/** A row, or its last version if it is removed. */
export interface RowStory {
  /** The database's time. */
  readonly at: string;
  /** `absent`: nothing is mirrored under this key, but something names it. */
  readonly state: 'live' | 'deleted' | 'absent';
  /** Past and planned: lines of `row_story` that belong together, and the daemon's own. The newest first. */
  readonly timeline: readonly (Readonly<Record<'at' | 'what', string>> & {
    readonly by: string | null;
    readonly more: Readonly<Record<string, unknown>> | null;
    /** Before and after as JSON text, which may be cut; null: the item did not have the field. */
    readonly fields: readonly Readonly<Record<'field' | 'before' | 'after', string | null>>[];
  })[];
  /** Older entries are left out. */
  readonly more: boolean;
  /** Columns with a value. */
  readonly columns: readonly Readonly<Record<'name' | 'value', string>>[];
  /** The whole item as JSON text, which may be cut. */
  readonly raw: string | null;
}

/** Checks and normalizes the parts. @returns undefined if no such row can exist */
export function rowAddress(userId: string, name: string, key: string): RowAddress | undefined {
  const entry = COLLECTIONS.find((each) => each.name === name);
  const user = keyOf('bigint', userId);
  if (entry === undefined || user === undefined) return undefined;
  if (entry.kind === 'single') return { userId: user, collection: entry.name, key: user };
  const types = [...(entry.parent === undefined ? [] : [entry.parent.keyType]), entry.keyType];
  const given = keyParts({ collection: entry.name, key });
  const parts = types.map((type, n) => keyOf(type, given[n] ?? ''));
  if (parts.includes(undefined)) return undefined;
  return { userId: user, collection: entry.name, key: parts.join(':') };
}

/** `research_jobs 17`, `list_items a:b of list 7`, `account 42`. */
export function rowName(row: RowAddress): string {
  const [own = row.userId, list] = keyParts(row).toReversed();
  return list === undefined ? `${row.collection} ${own}` : `${row.collection} ${own} of list ${list}`;
}

/** Relative address of the row's page: `rows?user=42&collection=list_items&key=7%3Aa`. */
export function rowPath({ userId: user, collection: name, key }: RowAddress): string {
  return `rows?${String(new URLSearchParams({ user, collection: name, key }))}`;
}

/** The key as stored; undefined if the text is no key. */
export function keyOf(type: KeyType, text: string): string | undefined {
  const reading = readKey(type, JSON.stringify(text));
  return 'key' in reading ? reading.key : undefined;
}

/** Values of the key's columns after `_user_id`: a list's ID before its item's; none for `account`. */
export function keyParts({ collection: name, key }: Pick<RowAddress, 'collection' | 'key'>): string[] {
  const entry = collection(name);
  if (entry.kind === 'single') return [];
  const colon = key.indexOf(':');
  return entry.parent === undefined || colon === -1 ? [key] : [key.slice(0, colon), key.slice(colon + 1)];
}

/** Longest query, in characters: no ID is longer. */
export const LONGEST_QUERY = MAX_TEXT_KEY_BYTES;
