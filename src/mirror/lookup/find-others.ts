import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import { COLLECTION_NAMES, type CollectionName } from '../../model/collections.ts';
import { rowsOfAnswer } from '../../model/hint.ts';
import { keyOf, keyTypes, type RowAddress } from '../../model/lookup/row-address.ts';
import type {
  FoundAccount,
  FoundCompany,
  FoundEvent,
  FoundSubmission,
} from '../../model/lookup/search-answer.ts';
import type { SearchTerms } from '../../model/lookup/search-terms.ts';
import { isoMoment } from './look-up-row.ts';

/** Accounts by their ID or e-mail address, in any case of its letters. There are thousands at most. */
export async function accountsBy(
  db: Db,
  { integer, email }: SearchTerms,
  limit: number,
): Promise<FoundAccount[]> {
  if (integer === undefined && email === undefined) return [];
  const { rows } = await db.sql<{ userId: string; email: string | null; there: boolean }>`
    select a._user_id as "userId", r.email, r._user_id is not null as there
    from ${db.stateTable('account')} as a
    left join ${db.table('account')} as r on r._user_id = a._user_id
    where a._user_id = ${integer ?? null}::bigint or lower(r.email) = lower(${email ?? null}::text)
    order by a._user_id limit ${limit}`;
  return rows.map(({ userId, email, there }) => ({
    kind: 'account',
    userId,
    email,
    row: there ? { userId, collection: 'account', key: [] } : null,
  }));
}

/** Events by their ID: an account's by the primary key. */
export async function eventsById(db: Db, ids: readonly string[], limit: number): Promise<FoundEvent[]> {
  if (ids.length === 0) return [];
  const { rows } = await db.sql<Omit<FoundEvent, 'kind' | 'row'> & Named>`
    select f.* from ${db.stateTable('account')} as a
    cross join lateral (
      select e._user_id as "userId", e.id, e.type, ${isoMoment(sql`e.received_at`)} as "receivedAt",
        e._collection as collection, e._key as key
      from ${db.table('events')} as e
      where e._user_id = a._user_id and e.id = any(${[...ids]}::text[]) limit ${limit}) as f
    limit ${limit}`;
  return rows.map(({ collection, key, ...event }) => ({
    kind: 'event',
    ...event,
    row: addressOf(event.userId, collection, key),
  }));
}

/** What an event says of the row that it is about. */
interface Named {
  readonly collection: string | null;
  readonly key: string | null;
}

/** Submissions by their ID, or by the idempotency key that they were queued with. */
export async function submissionsBy(
  db: Db,
  { integer, texts }: SearchTerms,
  limit: number,
): Promise<FoundSubmission[]> {
  const columns = sql`
    s._user_id as "userId", s.submission_id as "submissionId", s.operation, s.state, s.target_id as target,
    ${isoMoment(sql`s.created_at`)} as "createdAt", coalesce(s._verbatim, s.response::text) as response`;
  type Stored = Omit<FoundSubmission, 'kind' | 'row'> & {
    readonly target: string | null;
    readonly response: string | null;
  };
  const byId = await db.sql<Stored>`
    select ${columns} from ${db.table('submissions')} as s
    where s.submission_id = ${integer ?? null}::bigint limit ${limit}`;
  const byKey = await db.sql<Stored>`
    select f.* from ${db.stateTable('account')} as a
    cross join lateral (
      select ${columns} from ${db.table('submissions')} as s
      where s._user_id = a._user_id and s.idempotency_key = any(${[...texts]}::text[]) limit ${limit}) as f
    limit ${limit}`;
  const all = new Map([...byId.rows, ...byKey.rows].map((row) => [row.submissionId, row]));
  return [...all.values()].map(({ target, response, ...submission }) => ({
    kind: 'submission',
    ...submission,
    row: answered(submission.userId, response) ?? targeted(submission, target),
  }));
}

function answered(userId: string, response: string | null): RowAddress | undefined {
  const row = response === null ? undefined : rowsOfAnswer(response).find(({ key }) => key !== '');
  return row === undefined ? undefined : { userId, collection: row.collection, key: [row.key] };
}

/** Operations whose target is a row (specification 4.4), and its table. */
export const TARGETS: Readonly<Record<string, CollectionName>> = {
  sequence: 'research_jobs',
  list_analyze: 'lists',
};

function targeted(
  { userId, operation }: Pick<FoundSubmission, 'userId' | 'operation'>,
  target: string | null,
): RowAddress | null {
  return addressOf(userId, TARGETS[operation] ?? null, target);
}

/** The companies of these accounts that have the domain. */
export async function companiesOf(db: Db, domain: string, users: readonly string[]): Promise<FoundCompany[]> {
  if (users.length === 0) return [];
  const { rows } = await db.sql<Omit<FoundCompany, 'kind'>>`
    select v._user_id as "userId", v.domain, v.research_jobs::float8 as "researchJobs",
      v.list_items::float8 as "listItems", v.lists::float8 as lists, v.watched,
      left(v.last_job_status, 100) as "lastJobStatus", ${isoMoment(sql`v.last_researched_at`)} as "lastResearchedAt",
      v.latest_score::text as "latestScore"
    from ${db.table('companies')} as v
    where v._user_id = any(${[...users]}::bigint[]) and v.domain = ${domain}
    order by 1`;
  return rows.map((row) => ({ kind: 'company', ...row }));
}

/** @returns null where it is none of a mirrored table: an older or newer program may have written it */
function addressOf(userId: string, collection: string | null, key: string | null): RowAddress | null {
  const name = COLLECTION_NAMES.find((each) => each === collection);
  const [type, ...more] = name === undefined ? [] : keyTypes(name);
  if (name === undefined || type === undefined || more.length > 0 || key === null) return null;
  const known = keyOf(type, key);
  return known === undefined ? null : { userId, collection: name, key: [known] };
}
