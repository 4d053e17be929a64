import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { ListCollection, Scope } from '../../model/collections.ts';

/** How much that named a row was erased. */
export interface ErasedMentions {
  readonly events: number;
  /** Submissions whose payload and answer were emptied. */
  readonly submissions: number;
}

/** Operations whose target is a row, by its collection. */
const TARGETED: Readonly<Record<string, string>> = { research_jobs: 'sequence', lists: 'list_analyze' };

/**
 * Erases what names the row by its key: whole events; of submissions what was sent and answered. One that waits is
 * cancelled. IDs of events stay, so that a late repetition is known; so do a submission's ID, times and
 * `idempotency_key`, so that it is not sent again. Last, finished requests to the daemon, whose answers show rows.
 */
export async function eraseMentions(
  trx: Db,
  list: ListCollection,
  scope: Scope,
  key: string,
  at: Date,
): Promise<ErasedMentions> {
  const { userId } = scope;
  const names = naming(list, scope, key);
  const events = await trx.sql`
    delete from ${trx.table('events')} as e
    where e._user_id = ${userId}::bigint and (
      e._collection = ${scope.collection} and e._key = ${key} or ${names(sql`e._raw`, sql`e`)})`;
  const target = TARGETED[list.name] ?? null;
  const submissions = await trx.sql`
    update ${trx.table('submissions')} as s
    set payload = '{}', response = null, error = null, _verbatim = null,
      target_id = case when s.operation = ${target} and s.target_id = ${key} then null else s.target_id end,
      state = case when s.state in ('queued', 'held') then 'cancelled' else s.state end,
      done_at = case when s.state in ('queued', 'held') then ${at}::timestamptz else s.done_at end
    where s._user_id = ${userId}::bigint and (
      s.operation = ${target} and s.target_id = ${key}
      or ${names(sql`s.payload`, undefined)} or ${names(sql`s.response`, undefined)})`;
  await trx.sql`
    delete from ${trx.stateTable('command')} as c
    where c.done_at is not null and strpos(concat(c.arguments, c.progress, c.result), ${JSON.stringify(key)}) > 0`;
  return {
    events: Number(events.numAffectedRows ?? 0n),
    submissions: Number(submissions.numAffectedRows ?? 0n),
  };
}

/**
 * A condition: the JSON has, at any depth, an object that names the row. `job_id`, `bulk_job_id` and `list_id` name
 * one anywhere; `id` does in events about the watchlist or the list alone.
 */
function naming(
  { keyField, parent, name }: ListCollection,
  scope: Scope,
  key: string,
): (json: RawBuilder<unknown>, event: RawBuilder<unknown> | undefined) => RawBuilder<unknown> {
  // A number is the same number however it is spelled; one that is no number can't be compared with any.
  const number = /^-?\d{1,19}$/.test(key) ? key : 'null';
  const values = `{"n": ${number}, "s": ${JSON.stringify(key)}}`;
  const path = `$.**."${keyField}" ? (@ == $n || @ == $s)`;
  return (json, event) => {
    const found = sql`coalesce(jsonb_path_exists(${json}, ${path}::jsonpath, ${values}::text::jsonb, true), false)`;
    if (keyField !== 'id') return found;
    if (event === undefined) return sql`false`;
    const about =
      parent === undefined
        ? sql`${event}._collection = ${name}`
        : sql`
      ${event}._collection = ${parent.collection} and ${event}._key = ${scope.parent}`;
    return sql`(${about} and ${found})`;
  };
}
