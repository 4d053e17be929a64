import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../db/connection/db.ts';
import { databaseTime } from '../../db/connection/database-time.ts';
import { collection, COLLECTIONS, type CollectionName } from '../../model/collections.ts';
import { rowsOfAnswer } from '../../model/hint.ts';
import type { Found, RowsAnswer, RowsAsked, SearchAnswer } from '../../model/lookup/lookup-answers.ts';
import { type SearchTerms, searchTerms } from '../../model/lookup/row-address.ts';
import { dataTable, DOMAIN_COLUMN, keyColumns, type Table, tableOf } from '../table.ts';

/** Results of one search, at most. */
export const MOST_RESULTS = 50;
/** Rows of a page. */
const ROWS_AT_ONCE = 50;
/** Rows that a page of one state looks at: no index has states, and a rare one may be in none of a million rows. */
const LOOKED_AT = 5_000;

/** Operations whose target is a row (specification 4.4), and its table. */
export const TARGETS: Readonly<Record<string, CollectionName>> = {
  sequence: 'research_jobs',
  list_analyze: 'lists',
};

type Line = Found & { readonly response: string | null };

/**
 * Searches all accounts for what has the query as ID, domain, e-mail address or idempotency key. IDs come before
 * domains, live rows before deleted ones, what changed last before the rest.
 * @throws DatabaseUnavailable, also where it takes too long
 */
export async function searchMirror(db: Db, query: string): Promise<SearchAnswer> {
  const terms = searchTerms(query);
  const places = [...rowsWith(db, terms), ...othersWith(db, terms)];
  return lookupSnapshot(db, async (trx) => {
    const at = (await databaseTime(trx)).toISOString();
    const { rows } = await trx.sql<Line>`
      select f.kind, f."userId", f.id, f.collection, f.key, f.name, f.state, to_json(f.at) as at, f.by, f.response
      from (${sql.join(places, sql` union all `)}) as f
      order by f.by = 'domain', f.state is not distinct from 'deleted', f.at desc nulls last limit ${MOST_RESULTS + 1}`;
    // A row may be found by its ID and its domain, and removed more than once.
    const nameOf = ({ kind, userId, id, collection }: Line): string =>
      `${kind} ${userId} ${collection} ${id}`;
    const lines = [...new Map(rows.toReversed().map((line) => [nameOf(line), line])).values()].toReversed();
    const all = lines.map(found);
    const companies = await companiesOf(trx, terms, new Set(lines.map(({ userId }) => userId)));
    all.splice(lines.filter(({ by }) => by === 'id').length, 0, ...companies);
    return { query, at, results: all.slice(0, MOST_RESULTS), more: all.length > MOST_RESULTS };
  });
}

/** A submission leads to the row that its answer names, else to its target. */
function found({ response, ...line }: Line): Found {
  if (line.kind !== 'submission') return line;
  const named = response === null ? undefined : rowsOfAnswer(response).find(({ key }) => key !== '');
  const target = { collection: TARGETS[line.name ?? ''] ?? null, key: line.key };
  const { collection, key } = named ?? target;
  return { ...line, collection, key };
}

/** Rows by ID, also what MIRROR_DELETES=hard left of removed ones; and by domain, live and deleted ones by an index each. */
function rowsWith(db: Db, { integer = '', domain, texts }: SearchTerms): RawBuilder<unknown>[] {
  const [text = null, other = text] = texts;
  return COLLECTIONS.flatMap((entry) => {
    if (entry.kind === 'single') return [];
    const table = tableOf(db.schema, entry.name);
    const key = sql.id('r', entry.keyField);
    const inList = entry.parent === undefined ? sql`` : sql`and r.list_id = p.list_id`;
    // By equality, which a unique index serves: for any(…) PostgreSQL 15 may read all of a list.
    const isKey =
      entry.keyType === 'bigint'
        ? sql`${key} = nullif(${integer}, '')::bigint`
        : sql`(${key} = ${text} or ${key} = ${other})`;
    const hasId = sql`${isKey} ${inList}`;
    const ofDomain = sql`r.${sql.id(DOMAIN_COLUMN)} = ${domain} and r._deleted_at`;
    const byId = [hasId, sql`${hasId} and r._op = 'delete'`];
    const byDomain =
      domain === undefined || !hasDomain(table)
        ? []
        : [sql`${ofDomain} is null`, sql`${ofDomain} is not null`];
    return [...byId, ...byDomain].map((which, n) => {
      const suffix = n === 1 ? '_history' : '';
      const source = sql`select ${shown(table, suffix)}, ${n < 2 ? 'id' : 'domain'}::text as by
        from ${dataTable(table, suffix)} as r where r._user_id = a._user_id and ${which}`;
      return inEachAccount(db, source, n < 2 && entry.parent !== undefined);
    });
  });
}

/** Submissions, events and accounts. */
function othersWith(db: Db, { integer = '', email = '', texts }: SearchTerms): RawBuilder<unknown>[] {
  const number = sql`nullif(${integer}, '')::bigint`;
  const ids = sql`${[...texts]}::text[]`;
  const submissions = sql`
    select 'submission' as kind, s._user_id::text as "userId", s.submission_id::text as id, null as collection,
      s.target_id as key, s.operation as name, s.state, s.created_at as at,
      coalesce(s._verbatim, s.response::text) as response, 'id' as by
    from ${db.table('submissions')} as s`;
  return [
    sql`(${submissions} where s.submission_id = ${number} limit ${MOST_RESULTS + 1})`,
    inEachAccount(db, sql`${submissions} where s._user_id = a._user_id and s.idempotency_key = any(${ids})`),
    inEachAccount(
      db,
      sql`select 'event' as kind, e._user_id::text as "userId", e.id, e._collection as collection, e._key as key,
          e.type as name, null as state, e.received_at as at, null as response, 'id' as by
        from ${db.table('events')} as e where e._user_id = a._user_id and e.id = any(${ids})`,
    ),
    sql`(select 'account' as kind, a._user_id::text as "userId", a._user_id::text as id,
        case when r._user_id is not null then 'account' end as collection, a._user_id::text as key, r.email as name,
        null as state, r._changed_at as at, null as response, 'id' as by
      from ${db.stateTable('account')} as a left join ${db.table('account')} as r on r._user_id = a._user_id
      where a._user_id = ${number} or lower(r.email) = lower(nullif(${email}, '')) limit ${MOST_RESULTS + 1})`,
  ];
}

/**
 * Primary keys begin with the account: each one's rows are looked up apart, items in each of its lists `p`. The limit
 * within keeps the planner from joining the whole table to the accounts.
 */
function inEachAccount(db: Db, source: RawBuilder<unknown>, inLists = false): RawBuilder<unknown> {
  const lists = sql`cross join lateral (
    select l.list_id from ${db.table('lists')} as l where l._user_id = a._user_id
    union
    select h.list_id from ${db.table('lists_history')} as h where h._user_id = a._user_id and h._op = 'delete') as p`;
  return sql`(select f.* from ${db.stateTable('account')} as a ${inLists ? lists : sql``}
    cross join lateral (${source} limit ${MOST_RESULTS + 1}) as f limit ${MOST_RESULTS + 1})`;
}

/** The companies of these accounts that have the domain, and what is mirrored of each. */
async function companiesOf(db: Db, { domain }: SearchTerms, users: ReadonlySet<string>): Promise<Found[]> {
  if (domain === undefined || users.size === 0) return [];
  const { rows } = await db.sql<Found>`
    select 'company' as kind, 'domain' as by, v._user_id::text as "userId", v.domain as id, null as collection, null as key,
      concat_ws(', ', 'research jobs: ' || v.research_jobs, 'list items: ' || v.list_items, 'lists: ' || v.lists,
        case when v.watched then 'watched' end, 'score: ' || v.latest_score) as name,
      left(v.last_job_status, 100) as state, to_json(v.last_researched_at) as at
    from ${db.table('companies')} as v
    where v._user_id = any(${[...users]}::bigint[]) and v.domain = ${domain}
    order by v._user_id`;
  return rows;
}

/**
 * Rows of a collection, those that changed last first.
 * @returns undefined: the account is not mirrored
 * @throws DatabaseUnavailable, also where it takes too long
 */
export async function newestRows(db: Db, asked: RowsAsked): Promise<RowsAnswer | undefined> {
  const { userId, collection, state, before } = asked;
  const table = tableOf(db.schema, collection);
  const rowsOf = sql`from ${dataTable(table)} as r where r._user_id = ${userId}::bigint
    ${before === undefined ? sql`` : sql`and r._change_id < ${before}::bigint`} order by r._change_id desc`;
  return lookupSnapshot(db, async (trx) => {
    const known = await trx.sql`
      select from ${db.stateTable('account')} as a where a._user_id = ${userId}::bigint`;
    if (known.rows.length === 0) return undefined;
    const at = (await databaseTime(trx)).toISOString();
    const { rows } = await trx.sql<Found & { readonly changeId: string }>`
      select f.kind, f."userId", f.id, f.collection, f.key, f.name, f.state, to_json(f.at) as at, f."changeId"
      from (
        select ${shown(table)}, r._change_id as "changeId" ${rowsOf}
        limit ${state === undefined ? ROWS_AT_ONCE + 1 : LOOKED_AT}) as f
      ${state === undefined ? sql`` : sql`where f.state = ${state}`}
      order by f."changeId" desc limit ${ROWS_AT_ONCE + 1}`;
    const shownRows = rows.slice(0, ROWS_AT_ONCE);
    let next = rows.length > ROWS_AT_ONCE ? shownRows.at(-1)?.changeId : undefined;
    if (next === undefined && state !== undefined) {
      const lookedAt = await trx.sql<{ changeId: string }>`
        select r._change_id as "changeId" ${rowsOf} offset ${LOOKED_AT - 1} limit 1`;
      next = lookedAt.rows[0]?.changeId;
    }
    return { ...asked, at, rows: shownRows, next: next ?? null };
  });
}

/**
 * Runs `work` on one snapshot, where a statement takes three seconds at most and tables are read by their indexes: what
 * is looked up is a few rows of many, whatever the statistics say or leave out.
 * @throws DatabaseUnavailable where a statement takes longer
 */
export function lookupSnapshot<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  return db.snapshot(async (trx) => {
    await trx.raw(
      'set local statement_timeout = 3000; set local jit = off; set local enable_seqscan = off; ' +
        'set local enable_hashjoin = off; set local enable_mergejoin = off',
    );
    return work(trx);
  });
}

/** Columns of `Found`, of a row `r` of the table or of its history. */
function shown(table: Table, suffix: '' | '_history' = ''): RawBuilder<unknown> {
  const [user = '', ...key] = keyColumns(table);
  const parts = (key.length === 0 ? [user] : key).map((column) => sql`${sql.id('r', column)}::text`);
  const keyText = sql.join(parts, sql` || ':' || `);
  const domain = hasDomain(table) ? sql.id('r', DOMAIN_COLUMN) : sql`null`;
  const gone = suffix === '' ? sql`r._deleted_at` : sql`r._valid_to`;
  return sql`'row' as kind, r._user_id::text as "userId", ${keyText} as id, ${table.name} as collection,
    ${keyText} as key, nullif(concat_ws(', ', left(r._raw ->> 'name', 200), ${domain}), '') as name,
    case when ${gone} is null then left(r._raw ->> 'status', 100) else 'deleted' end as state,
    coalesce(${gone}, r._changed_at) as at, null as response`;
}

/** Whether rows of the table have a domain (docs/tables.md, "Companies"). */
function hasDomain({ name }: Table): boolean {
  const entry = collection(name);
  return entry.kind === 'list' && entry.domainFields !== undefined;
}
