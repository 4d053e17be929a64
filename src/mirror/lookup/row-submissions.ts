import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
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
  const operations = Object.keys(TARGETS).filter((operation) => TARGETS[operation] === row.collection);
  const { rows } = await db.sql<{
    submissionId: string;
    operation: string;
    idempotencyKey: string | null;
    state: string;
    responseStatus: number | null;
    response: string | null;
    targeted: boolean;
    createdAt: string;
    sentAt: string | null;
    doneAt: string | null;
  }>`
    -- Not ordered within: the planner would read all submissions of the account in that order, the newest first.
    select f.* from (
    select s.submission_id as "submissionId", s.operation, s.idempotency_key as "idempotencyKey", s.state,
      s.response_status as "responseStatus", coalesce(s._verbatim, s.response::text) as response,
      coalesce(s.operation = any(${operations}::text[]) and s.target_id = ${key}, false) as targeted,
      ${isoMoment(sql`s.created_at`)} as "createdAt", ${isoMoment(sql`s.sent_at`)} as "sentAt",
      ${isoMoment(sql`s.done_at`)} as "doneAt"
    from ${db.table('submissions')} as s
    where s._user_id = ${row.userId}::bigint and (
      s.response is not null and (${NAMED} @> ${`[${key}]`}::text::jsonb or ${NAMED} @> ${`["${key}"]`}::text::jsonb)
      or s.target_id = ${key})
    offset 0) as f
    order by f."submissionId" desc limit ${limit}`;
  return rows
    .filter(({ response, targeted }) => targeted || (response !== null && names(response, row)))
    .flatMap(({ submissionId, operation, idempotencyKey, state, responseStatus, ...when }) => {
      const submission = { submissionId, operation, idempotencyKey, state, responseStatus };
      const { createdAt, sentAt, doneAt } = when;
      return [
        { what: 'queued' as const, at: createdAt, ...submission },
        ...(sentAt === null ? [] : [{ what: 'sent' as const, at: sentAt, ...submission }]),
        ...(doneAt === null ? [] : [{ what: 'answered' as const, at: doneAt, ...submission }]),
      ];
    });
}

/** A job and a list may have the same number. */
function names(response: string, { collection, key }: RowAddress): boolean {
  return rowsOfAnswer(response).some((row) => row.collection === collection && row.key === key[0]);
}
