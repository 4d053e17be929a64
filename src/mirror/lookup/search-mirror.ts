import { type RawBuilder, sql } from 'kysely';
import { databaseTime, type Db } from '../../db/connection/db.ts';
import { collection, COLLECTIONS, type CollectionName } from '../../model/collections.ts';
import { domainOf } from '../../model/domain.ts';
import { rowsOfAnswer } from '../../model/hint.ts';
import { type Found, keyOf, rowAddress, type RowFilter } from '../../model/lookup/lookup.ts';
import { dataTable, DOMAIN_COLUMN, keyColumns, type Table, tableOf } from '../table.ts';

/** Results of one search, and rows of a list, at most. */
export const MOST_FOUND = 50;
/** Rows that a list of one state looks at: no index has states, and a rare one may be in none of a million rows. */
const LOOKED_AT = 5_000;
/** Rows that changed last, of all collections. */
const LATEST = 20;

/** Operations whose target is a row (specification 4.4), and its table. */
export const TARGETS: Readonly<Record<string, CollectionName>> = {
  sequence: 'research_jobs',
  list_analyze: 'lists',
};

/**
 * Searches all accounts for what has the query as ID, domain, e-mail address or idempotency key: what is there before
 * what is deleted, what changed last before the rest.
 * @throws DatabaseUnavailable, also where it takes too long
 */
export async function searchMirror(db: Db, query: string) {
  const terms = searchTerms(query);
  const places = [...rowsWith(db, terms), ...othersWith(db, terms)];
  return lookupSnapshot(db, async (trx, at) => {
    const { rows } = await trx.sql<Line>`
      select f.* from (${sql.join(places, sql` union all `)}) as f
      order by f.state is not distinct from 'deleted', f.at desc nulls last`;
    // A row may be found by its ID and by its domain.
    const alike = Map.groupBy(rows.map(foundIn), ({ by, userId, row }) => JSON.stringify([by, userId, row]));
    const found = [...alike.values()].flatMap(([first]) => first ?? []);
    return { at, found: found.slice(0, MOST_FOUND), more: found.length > MOST_FOUND };
  });
}

type SearchTerms = ReturnType<typeof searchTerms>;

/** What the text of a search may be; null: it can't be that. As an ID it is taken with white space around it, and without. */
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

/** Rows by ID; and by domain, live and deleted ones by an index each. */
function rowsWith(db: Db, { integer, domain, texts }: SearchTerms): RawBuilder<unknown>[] {
  const [text = null, other = text] = texts;
  return COLLECTIONS.flatMap((entry) => {
    if (entry.kind === 'single') return [];
    const table = tableOf(db.schema, entry.name);
    const key = sql.id('r', entry.keyField);
    // By equality, which a unique index serves: for any(…) PostgreSQL 15 may read all of a list.
    const isKey =
      entry.keyType === 'bigint'
        ? sql`${key} = ${integer}::bigint`
        : sql`(${key} = ${text} or ${key} = ${other})`;
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
 * Primary keys begin with the account: each one's rows are looked up apart, items in each of its lists `p`. The limit
 * within keeps the planner from joining the whole table to the accounts.
 */
function inEachAccount(db: Db, source: RawBuilder<unknown>, inLists = false): RawBuilder<unknown> {
  const lists = sql`cross join lateral (
    select l.list_id from ${db.table('lists')} as l where l._user_id = a._user_id) as p`;
  return sql`(select f.* from ${db.stateTable('account')} as a ${inLists ? lists : sql``}
    cross join lateral (${source} limit ${MOST_FOUND + 1}) as f limit ${MOST_FOUND + 1})`;
}

/**
 * Rows of a collection, those that changed last first.
 * @throws DatabaseUnavailable, also where it takes too long
 */
export async function newestRows(db: Db, filter: RowFilter) {
  const { userId, state, before } = filter;
  const most = state === undefined ? MOST_FOUND + 1 : LOOKED_AT;
  return lookupSnapshot(db, async (trx, at) => {
    const { rows } = await trx.sql<Line & { readonly changeId: string }>`
      ${newestOf(tableOf(db.schema, filter.collection), userId, most, before)}`;
    const asked = state === undefined ? rows : rows.filter((row) => row.state === state);
    const first = asked.slice(0, MOST_FOUND);
    const last = asked.length > MOST_FOUND ? first.at(-1) : rows[most - 1];
    return { at, found: first.map(foundIn), next: last?.changeId };
  });
}

/** The account's rows that changed last, the newest first: the end of each table's index by `_change_id`. */
export async function latestRows(db: Db, userId: string): Promise<Found[]> {
  const parts = COLLECTIONS.map(({ name }) => newestOf(tableOf(db.schema, name), userId, LATEST));
  const { rows } = await db.sql<Line>`
    select v.* from (${sql.join(parts, sql` union all `)}) as v order by v."changeId" desc limit ${LATEST}`;
  return rows.map(foundIn);
}

function newestOf(table: Table, userId: string, most: number, before?: string): RawBuilder<unknown> {
  return sql`(select ${shown(table)}, r._change_id as "changeId" from ${dataTable(table)} as r
    where r._user_id = ${userId}::bigint ${before === undefined ? sql`` : sql`and r._change_id < ${before}::bigint`}
    order by r._change_id desc limit ${most})`;
}

/**
 * Runs `work` on one snapshot, where a statement takes three seconds at most and tables are read by their indexes: what
 * is looked up is a few rows of many, whatever the statistics say or leave out. `at` is the database's time.
 * @throws DatabaseUnavailable where a statement takes longer
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

/** A row of the statements. */
interface Line extends Omit<Found, 'row' | 'at'> {
  readonly collection: string | null;
  readonly key: string | null;
  readonly at: Date;
  /** Of a submission. */
  readonly response: string | null;
}

/** Columns of `Line`, of a row `r` of the table; a company's has a domain (docs/tables.md, "Companies"). */
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
function foundIn({ userId, by, name, state, at, collection, key, response }: Line): Found {
  const named = response === null ? undefined : rowsOfAnswer(response).find((each) => each.key !== '');
  const table = named?.collection ?? collection ?? TARGETS[name ?? ''] ?? '';
  const row = rowAddress(userId, table, named?.key ?? key ?? '');
  return { userId, by, row, name, state, at: at.toISOString() };
}
