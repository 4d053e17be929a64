/** Rows of `submissions` as their sender changes them, under the fence. */

import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { type RawBuilder, sql } from 'kysely';
import { addHints } from '../mirror/hint-store.ts';
import type { CollectionName } from '../model/collections.ts';
import { OutcomeUnknown } from '../model/errors.ts';
import { rowsOfAnswer } from '../model/hint.ts';
import { storedBody, type StoredBody } from '../model/values.ts';
import { NO_PRIVACY, type Privacy } from '../model/privacy.ts';
import {
  type ClaimedSubmission,
  OPERATION_NAMES,
  type QueuedSubmission,
  type SubmissionOutcome,
  type SubmissionStore,
} from '../model/submission.ts';
import { type Fence, fenced, takeChangeIds } from '../postgres/fenced.ts';
import { AHEAD_MS, hasCome } from '../postgres/clock-step.ts';
import { commitDurably, type Db } from '../postgres/db.ts';
import { maySend } from '../postgres/installation.ts';
import { isRefusedValue } from '../postgres/sql-state.ts';
import { LISTED_AFTER_MS } from './send-submission.ts';

/** A request is written this long after its claim at most, or not at all, ms (docs/design/operations-out.md). */
const SEND_WITHIN_MS = 5_000;
/** Added to the last moment at which an earlier owner's request may have ended, ms. */
const MARGIN_MS = 30_000;

/** The submissions of the fence's account. Each owner has one store: it knows its claims. */
export function createSubmissionStore(options: {
  readonly db: Db;
  readonly fence: Fence;
  /** The mirrored collections: an answer hints at rows of these. */
  readonly collections: ReadonlySet<CollectionName>;
  /** The only submission to send; left out: all. */
  readonly only?: string | undefined;
  /** Which fields of payloads and answers are kept when a submission ends; left out: all. */
  readonly privacy?: Privacy;
}): SubmissionStore {
  const { db, fence, privacy = NO_PRIVACY } = options;
  const { userId } = fence;
  const submissions = db.table('submissions');
  // Claimed here and not finished. None is claimed again before: an outcome that is written twice would count for the
  // next attempt.
  const claimed = new Map<string, ClaimedRow>();
  // Claims whose commit is unknown; nothing was sent.
  const unconfirmed = new Set<string>();

  /**
   * Runs a write that the caller may repeat after an unknown commit. The commit survives a crash, or a claim would be
   * sent again, and an outcome would be lost.
   */
  const repeatable = async <T>(write: (trx: Db, now: Date) => Promise<T>): Promise<T> => {
    try {
      const durably = async (trx: Db, now: Date): Promise<T> => {
        await commitDurably(trx);
        return write(trx, now);
      };
      // The outcome of a sent request is stored whatever the clock does.
      return await fenced(db, fence, durably, undefined, undefined, 'pass');
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) throw error;
      throw new DatabaseUnavailable(messageOf(error), { cause: error });
    }
  };
  /**
   * Takes a change ID that no row gets, since this process relies on its writes: it sends a claim, and forgets a
   * finished submission. If the database goes back behind the write, the next fence misses the ID (fenced.ts).
   */
  const leaveMark = (trx: Db): Promise<unknown> => takeChangeIds(trx, userId, 1);

  return {
    async queued(limit) {
      if (unconfirmed.size > 0) {
        const ids = await repeatable(async (trx) => {
          await leaveMark(trx);
          const ids = [...unconfirmed];
          await trx.sql`
            update ${submissions} set state = 'queued', sent_at = null, _send_before = null
            where _user_id = ${userId} and submission_id = any(${ids}::bigint[]) and state = ${SENDING}`;
          return ids;
        });
        for (const id of ids) unconfirmed.delete(id);
      }
      const only = options.only === undefined ? sql`` : sql` and q.submission_id = ${options.only}`;
      // The oldest of each operation: each costs an index scan that ends after `limit` rows that may be tried.
      const { rows } = await db.sql<QueuedSubmission>`
        select s.submission_id as id, s.operation, s.target_id as "targetId", s._request_id as "requestId"
        from unnest(${[...OPERATION_NAMES]}::text[]) as o(operation)
        cross join lateral (
          select * from ${submissions} as q
          where q._user_id = ${userId} and q.state = 'queued' and q.operation = o.operation
            and (q._not_before is null or ${hasCome(sql`q._not_before`, AHEAD_MS.submission)})${only}
          order by q.submission_id limit ${limit}) as s
        order by s.submission_id`;
      return rows;
    },

    async claim(id) {
      if (claimed.has(id)) return undefined;
      let row: ClaimedRow | undefined;
      try {
        row = await repeatable(async (trx, now) => {
          if (!(await maySend(trx, now))) return undefined;
          await leaveMark(trx);
          const { rows } = await trx.sql<ClaimedRow>`
            update ${submissions}
            set state = ${SENDING}, sent_at = ${now}::timestamptz, error = null, _not_before = null,
              _send_before = ${new Date(now.getTime() + SEND_WITHIN_MS)}::timestamptz
            where _user_id = ${userId} and submission_id = ${id} and state = 'queued'
            returning submission_id as id, operation, target_id as "targetId", _request_id as "requestId",
              payload::text as payload`;
          // Before the commit, so that `queued` takes no claim back that is sent.
          if (rows.length > 0) unconfirmed.delete(id);
          return rows[0];
        });
      } catch (error) {
        unconfirmed.add(id);
        throw error;
      }
      if (row === undefined) return undefined;
      claimed.set(id, row);
      return { ...row, sendBeforeMs: SEND_WITHIN_MS };
    },

    async finish(id, outcome) {
      const row = claimed.get(id);
      if (row === undefined) throw new RangeError(`submission ${id} was not claimed here`);
      const body = outcome.state === 'queued' ? undefined : outcome.body;
      const { operation } = row;
      const payload = outcome.state === 'queued' ? row.payload : privacy.payload(operation, row.payload);
      const emptied = payload === row.payload ? sql`` : sql`, payload = ${payload}::text::jsonb`;
      const response = await responseOf(db, body && privacy.answer(operation, row.payload, body));
      await repeatable(async (trx, now) => {
        // A late answer replaces the `unknown` of recover(). But a submission that users may have seen as unknown is
        // never sent again.
        const isAnswered = outcome.state === 'accepted' || outcome.state === 'rejected';
        const from = isAnswered ? [SENDING, UNKNOWN] : [SENDING];
        const { numAffectedRows } = await trx.sql`
          update ${submissions} set ${changes(outcome, response, now)}${emptied}
          where _user_id = ${userId} and submission_id = ${id} and state = any(${from}::text[])`;
        if (numAffectedRows === 0n) return;
        await leaveMark(trx);
        const rows = rowsOfAnswer(body ?? '').filter(({ collection }) => options.collections.has(collection));
        await addHints(trx, userId, rows, now);
      });
      claimed.delete(id);
    },

    recover: (timeoutMs, inHand) =>
      repeatable(async (trx, now) => {
        const bound = timeoutMs + MARGIN_MS;
        // A literal state, or the partial index of open submissions is not used (fenced.ts).
        const left = sql`state = 'sending' and submission_id <> all(${[...inHand]}::bigint[])`;
        const { rows: gaveUp } = await trx.sql<Pick<ClaimedRow, 'id' | 'operation' | 'payload'>>`
          update ${submissions}
          set state = ${UNKNOWN}, done_at = ${now}::timestamptz,
            _conclusive_at = ${new Date(now.getTime() + LISTED_AFTER_MS)}::timestamptz,
            error = 'the program that sent it ended before it had an answer: it may have taken effect'
          where _user_id = ${userId} and ${left}
            and _send_before <= ${new Date(now.getTime() - bound)}::timestamptz
          returning submission_id as id, operation, payload::text as payload`;
        if (gaveUp.length > 0) await leaveMark(trx);
        for (const { id, operation, payload } of gaveUp) {
          const left = privacy.payload(operation, payload);
          if (left === payload) continue;
          await trx.sql`
            update ${submissions} set payload = ${left}::text::jsonb
            where _user_id = ${userId} and submission_id = ${id}`;
        }
        const { rows } = await trx.sql<{ next: Date | null }>`
          select min(_send_before) as next from ${submissions} where _user_id = ${userId} and ${left}`;
        const next = rows[0]?.next;
        return next ? Math.max(1, next.getTime() + bound - now.getTime()) : undefined;
      }),
  };
}

const SENDING = 'sending';
const UNKNOWN = 'unknown';

type ClaimedRow = Omit<ClaimedSubmission, 'sendBeforeMs'>;

/** The columns that an outcome sets. */
function changes(outcome: SubmissionOutcome, response: StoredBody | undefined, now: Date): RawBuilder<unknown> {
  const after = (ms: number): RawBuilder<unknown> => sql`${new Date(now.getTime() + ms)}::timestamptz`;
  // The service's words may contain U+0000, which PostgreSQL's text can't hold.
  const error = outcome.error?.replaceAll('\0', '\uFFFD') ?? null;
  if (outcome.state === 'queued') {
    return sql`state = 'queued', sent_at = null, _send_before = null, error = ${error},
      _not_before = ${after(outcome.retryInMs)}`;
  }
  return sql`state = ${outcome.state}, done_at = ${now}::timestamptz, error = ${error},
    response_status = ${outcome.status ?? null}, response = ${response?.raw ?? null}::text::jsonb,
    _verbatim = ${response?.verbatim ?? null},
    _conclusive_at = ${outcome.state === 'unknown' ? after(outcome.conclusiveInMs) : null}`;
}

/** The body as it can be stored. Tries outside the transaction whether jsonb takes it: a refusal would end it. */
async function responseOf(db: Db, body: string | undefined): Promise<StoredBody | undefined> {
  if (body === undefined) return undefined;
  const stored = storedBody(body);
  try {
    await db.sql`select ${stored.raw}::text::jsonb is null`;
    return stored;
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    return storedBody(body, false);
  }
}
