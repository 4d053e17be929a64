import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { rowsOfAnswer } from '../../model/hint.ts';
import type { RowAddress } from '../../model/lookup/row-address.ts';
import type { TimelineEntry } from '../../model/lookup/row-story.ts';
import { TARGETS } from './find-others.ts';
import { isoMoment } from './look-up-row.ts';

/** The IDs that an answer names: the expression of the index submissions_answer (migration 0021). */
const NAMED = sql`(jsonb_path_query_array(s.response, '$.**{0 to 1}."job_id"')
  || jsonb_path_query_array(s.response, '$.**{0 to 1}."bulk_job_id"')
  || jsonb_path_query_array(s.response, '$.**{0 to 1}."list_id"'))`;

/** Submissions whose answer names the row, or whose target it is; the newest `limit` of them. */
export async function submissionEntries(db: Db, row: RowAddress, limit: number): Promise<TimelineEntry[]> {
  const [key, ...more] = row.key;
  // Answers name jobs and lists, by an integer.
  if (key === undefined || more.length > 0 || !/^-?\d+$/.test(key)) return [];
  const named = await stored(
    db,
    row,
    limit,
    sql`s.response is not null
      and (${NAMED} @> ${`[${key}]`}::text::jsonb or ${NAMED} @> ${`["${key}"]`}::text::jsonb)`,
  );
  const operations = Object.keys(TARGETS).filter((operation) => TARGETS[operation] === row.collection);
  const targeted = await stored(
    db,
    row,
    limit,
    sql`s._user_id = ${row.userId}::bigint and s.target_id = ${key} and s.operation = any(${operations}::text[])`,
  );
  const all = [...named.filter(({ response }) => response !== null && names(response, row)), ...targeted];
  return [...new Map(all.map((each) => [each.submissionId, each])).values()].flatMap(entriesOf);
}

interface NamingSubmission {
  readonly submissionId: string;
  readonly operation: string;
  readonly idempotencyKey: string | null;
  readonly state: string;
  readonly responseStatus: number | null;
  readonly response: string | null;
  readonly createdAt: string;
  readonly sentAt: string | null;
  readonly doneAt: string | null;
}

/** @param which a condition on rows aliased `s` that an index serves */
async function stored(
  db: Db,
  { userId }: RowAddress,
  limit: number,
  which: RawBuilder<unknown>,
): Promise<readonly NamingSubmission[]> {
  // Within, the condition stands alone: beside the account or an order, the planner may read all of the account's.
  const { rows } = await db.sql<NamingSubmission>`
    select f.* from (
      select s._user_id, s.submission_id as "submissionId", s.operation, s.idempotency_key as "idempotencyKey", s.state,
        s.response_status as "responseStatus", coalesce(s._verbatim, s.response::text) as response,
        ${isoMoment(sql`s.created_at`)} as "createdAt", ${isoMoment(sql`s.sent_at`)} as "sentAt",
        ${isoMoment(sql`s.done_at`)} as "doneAt"
      from ${db.table('submissions')} as s where ${which} offset 0) as f
    where f._user_id = ${userId}::bigint
    order by f."submissionId" desc limit ${limit}`;
  return rows;
}

function entriesOf({ createdAt, sentAt, doneAt, ...of }: NamingSubmission): TimelineEntry[] {
  const { submissionId, operation, idempotencyKey, state, responseStatus } = of;
  const submission = { submissionId, operation, idempotencyKey, state, responseStatus };
  return [
    { what: 'queued', at: createdAt, ...submission },
    ...(sentAt === null ? [] : [{ what: 'sent' as const, at: sentAt, ...submission }]),
    ...(doneAt === null
      ? []
      : [
          {
            what: responseStatus === null ? ('ended' as const) : ('answered' as const),
            at: doneAt,
            ...submission,
          },
        ]),
  ];
}

/** A job and a list may have the same number. */
function names(response: string, { collection, key }: RowAddress): boolean {
  return rowsOfAnswer(response).some((row) => row.collection === collection && row.key === key[0]);
}
