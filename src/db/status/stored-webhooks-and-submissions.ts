import type { Db } from '../connection/db.ts';
import { sql } from 'kysely';
import type { SubmissionCounts, WebhookStatus } from '../../model/status/status-report.ts';
import { AHEAD_MS, hasCome } from '../ownership/moment-ahead.ts';
import { registrationState } from '../webhook/webhook-store.ts';

/** An account's webhook and submissions, as far as Postgres knows them. */
export interface WebhookAndSubmissions {
  readonly webhook: WebhookStatus;
  readonly submissions: SubmissionCounts;
}

export const NO_SUBMISSIONS: SubmissionCounts = {
  queued: 0,
  sending: 0,
  held: 0,
  accepted: 0,
  rejected: 0,
  unknown: 0,
  cancelled: 0,
};

export const NO_WEBHOOK: WebhookStatus = {
  state: 'none',
  host: null,
  error: null,
  renewedSince: null,
  lastEventAt: null,
  hintsWaiting: 0,
  hintsDue: 0,
};

/** A status counts submissions that ended within this time, and names a webhook that was registered again. */
const ENDED_WITHIN = sql`interval '24 hours'`;

/** By account; accounts without either are left out. @param now the database's time */
export async function readWebhooksAndSubmissions(
  db: Db,
  now: Date,
): Promise<ReadonlyMap<string, WebhookAndSubmissions>> {
  const webhooks = await webhooksOf(db, now);
  const submissions = await submissionsOf(db, now);
  return new Map(
    [...new Set([...webhooks.keys(), ...submissions.keys()])].map((userId) => [
      userId,
      {
        webhook: webhooks.get(userId) ?? NO_WEBHOOK,
        submissions: submissions.get(userId) ?? NO_SUBMISSIONS,
      },
    ]),
  );
}

async function webhooksOf(db: Db, now: Date): Promise<ReadonlyMap<string, WebhookStatus>> {
  const found = await db.mirror
    .selectFrom('webhook')
    .select(['_user_id', 'url'])
    .where('_deleted_at', 'is', null)
    .execute();
  const hints = await db.state
    .selectFrom('hint')
    .select([
      '_user_id',
      (each) => each.fn.countAll<string>().as('waiting'),
      // By the server's own clock: `now` is of whole milliseconds, and would come before a hint that is due just now.
      (each) =>
        each.fn
          .countAll<string>()
          .filterWhere(hasCome(sql`due_at`, AHEAD_MS.hint, sql`statement_timestamp()`))
          .as('due'),
    ])
    .groupBy('_user_id')
    .execute();
  const theirs = new Map(found.map((row) => [row._user_id, row.url]));
  const hintsOf = new Map(hints.map((row) => [row._user_id, row]));
  const account = db.stateTable('account');
  // By account: each is one look at the end of an index.
  const { rows } = await db.sql<{
    userId: string;
    state: string | null;
    url: string | null;
    error: string | null;
    renewedSince: Date | null;
    lastEventAt: Date | null;
  }>`
    select a._user_id as "userId", r.state, r.url, r.error,
      (select max(x.at) from unnest(r.replaced_at) as x (at)
        where x.at > ${now}::timestamptz - ${ENDED_WITHIN} and r.state = 'registered' and r.registered_at >= x.at)
        as "renewedSince",
      (select max(e.received_at) from ${db.table('events')} as e where e._user_id = a._user_id) as "lastEventAt"
    from ${account} as a left join ${db.stateTable('registration')} as r on r._user_id = a._user_id`;
  return new Map(
    rows.map(({ userId, state: stored, url, error, renewedSince, lastEventAt }) => {
      const state = registrationState(stored);
      const ours = state === 'registered' || state === 'registering' || state === 'suspect';
      const host = hostOf(ours ? url : (theirs.get(userId) ?? null));
      const theirHints = hintsOf.get(userId);
      const status = {
        state,
        host,
        error,
        renewedSince: renewedSince?.toISOString() ?? null,
        lastEventAt: lastEventAt?.toISOString() ?? null,
        hintsWaiting: Number(theirHints?.waiting ?? 0),
        hintsDue: Number(theirHints?.due ?? 0),
      };
      return [userId, status];
    }),
  );
}

async function submissionsOf(db: Db, now: Date): Promise<ReadonlyMap<string, SubmissionCounts>> {
  const submissions = db.table('submissions');
  const { rows } = await db.sql<{ _user_id: string; state: string; rows: string }>`
    select a._user_id, s.state, s.rows
    from ${db.stateTable('account')} as a cross join lateral (
      select o.state, count(*) as rows from ${submissions} as o
      where o._user_id = a._user_id and o.state in ('queued', 'sending', 'held') group by o.state
      union all
      select d.state, count(*) from ${submissions} as d
      where d._user_id = a._user_id and d.done_at > ${now}::timestamptz - ${ENDED_WITHIN}
        and d.state not in ('queued', 'sending', 'held') group by d.state
    ) as s`;
  return new Map(
    [...Map.groupBy(rows, (row) => row._user_id)].map(([userId, states]) => [
      userId,
      { ...NO_SUBMISSIONS, ...Object.fromEntries(states.map((row) => [row.state, Number(row.rows)])) },
    ]),
  );
}

/** Of a URL only the host is shown: its path may contain a secret. */
function hostOf(url: string | null): string | null {
  return url === null ? null : (URL.parse(url)?.host ?? null);
}
