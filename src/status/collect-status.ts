/** Gathers what the status report says, from Postgres and from the running daemon. */

import { formatCount, formatSpan, ordinal } from '@research-mirror/runtime/figures';
import type { AccountsService } from '../account/accounts-service.ts';
import type { Config } from '../config/config.ts';
import { programVersion } from '../config/program.ts';
import { hashOfKey } from '../config/secret.ts';
import { collection, type CollectionName, parentsOf } from '../model/collections.ts';
import { knownKeys } from '../postgres/accounts.ts';
import { type Db, onlyRow } from '../postgres/db.ts';
import type { BudgetSnapshot } from '../service/key-budget.ts';
import { storedSnapshot } from '../service/slot-store.ts';
import { READS } from '../service/rate-groups.ts';
import { createSchedule, type Schedule } from '../sync/schedule.ts';
import { clockNotes, type Finding, isAllReadAgain, judge, unreadyDatabase } from './problems.ts';
import type { AccountStatus, Backlog, Facts, StatusReport } from './status-report.ts';
import { readStoredStatus } from './stored-status.ts';
import { readSuspects, waitingDeletions, waitingFields } from './waiting.ts';

/** What is mirrored, how fresh it is, and what is wrong: from Postgres, and from the running daemon's memory. */
export async function statusReport(sources: {
  readonly config: Config;
  readonly db: Db;
  /** The database in words, without password. */
  readonly words: string;
  /** The running daemon's accounts; undefined for a command. */
  readonly accounts: AccountsService | undefined;
  readonly workload: Awaited<ReturnType<typeof readWorkload>>;
  /** Why the running daemon can't write now. */
  readonly unready?: string | undefined;
}): Promise<StatusReport> {
  const { config, db, accounts: running, unready } = sources;
  const { gracePeriodMs } = config;
  const [stored, suspects] = await db.snapshot(async (trx) => {
    const found = await readStoredStatus(trx);
    return [found, await readSuspects(trx, found.now, gracePeriodMs)] as const;
  });
  const { now, processes, errors, held, recovery, clockBackMs } = stored;
  const { databaseBytes, backlogs, credits, notes } = sources.workload;
  const storedBudgets = Map.groupBy(stored.budgets, ({ userId }) => userId);
  const runners = new Map((running?.runners() ?? []).map((each) => [each.userId, each]));
  const accounts = stored.accounts.map((account): AccountStatus => {
    const { userId } = account;
    const collections = account.collections.map((each) => ({
      ...each,
      ...(backlogs.get(`${userId}/${each.collection}`) ?? NO_BACKLOG),
    }));
    // From memory for accounts of this process, else as stored.
    const ours = runners.get(userId)?.current()?.source.keys;
    const budgets =
      ours?.map(({ keyHash, budget }) => budgetOf(keyHash, budget.snapshot(), now)) ??
      storedBudgets.get(userId)?.map((each) => budgetOf(each.keyHash, storedSnapshot(each, config.budgetShare), now)) ??
      [];
    return { ...account, collections, credits: credits.get(userId) ?? null, budgets };
  });
  const alive = processes.some((each) => each.alive);
  const keys = await lookAtKeys(config, db, running, accounts);
  const facts: Facts = {
    ...noFacts(config, sources.words, now),
    databaseBytes,
    keys: keys.counts,
    processes,
    accounts,
    errors,
    deletions: waitingDeletions(accounts, suspects, alive, gracePeriodMs),
    held,
    recovery: recovery && { ...recovery, open: !isAllReadAgain(accounts, recovery.at, now, gracePeriodMs) },
  };
  const found = [...keys.findings, ...(await waitingFields(db, config))];
  const known = unready === undefined ? found : [...found, unreadyDatabase(unready)];
  const schedule = createSchedule(config);
  const notKept = accounts.flatMap((account) => linesNotKept(account, schedule, now));
  return judge(facts, known, [...clockNotes(clockBackMs), ...notKept, ...notes]);
}

/** The facts of a database without the tables of this program. */
export function noFacts({ service, schema }: Config, database: string, now: Date): Facts {
  return {
    version: programVersion(),
    at: now.toISOString(),
    service: service?.url ?? null,
    database,
    databaseBytes: null,
    schema,
    keys: null,
    processes: [],
    accounts: [],
    errors: [],
    deletions: [],
    held: null,
    recovery: null,
  };
}

/** Counts the keys by state, and finds their problems. @param running knows whether a key was refused last */
export async function lookAtKeys(
  { service }: Pick<Config, 'service'>,
  db: Db,
  running: Pick<AccountsService, 'runners' | 'unknownKeys'> | undefined,
  accounts: readonly Pick<AccountStatus, 'state' | 'error'>[],
) {
  const hashes = (service?.keys ?? []).map(hashOfKey);
  const known = new Map((await knownKeys(db, hashes)).map((key) => [key.keyHash, key]));
  const refusedHere = new Set(
    (running?.runners() ?? []).flatMap((runner) => runner.current()?.source.refusedKeys() ?? []),
  );
  // A stopped account reports these itself.
  const told = new Set(accounts.filter(({ state }) => state === 'stopped').map(({ error }) => error));
  const counts = { good: 0, refused: 0, moved: 0, unasked: 0 };
  const findings: Finding[] = [];
  const moves: Finding[] = [];
  for (const [index, hash] of hashes.entries()) {
    const { userId, error, moved: what } = known.get(hash) ?? {};
    const asked = userId === undefined ? 'unasked' : 'good';
    const isRefused = error !== undefined || refusedHere.has(hash);
    counts[what !== undefined ? 'moved' : isRefused ? 'refused' : asked] += 1;
    const name = hash.slice(0, 8);
    const why = running === undefined ? (userId === undefined ? error : undefined) : running.unknownKeys().get(name);
    if (why !== undefined) {
      const place = ordinal(index + 1);
      findings.push({
        cause: 'key_refused',
        what: `the ${place} key in MIRROR_API_KEY (${name}…) can’t be used: ${why}`,
      });
    }
    if (what !== undefined && !told.has(what)) moves.push({ cause: 'account_moved', what });
  }
  return { counts: service === undefined ? null : counts, findings: [...findings, ...moves] };
}

function budgetOf(keyHash: string, { groups }: BudgetSnapshot, now: Date): AccountStatus['budgets'][number] {
  const used = groups.filter((each) => each.sent > 0 || each.used > 0);
  return {
    key: keyHash.slice(0, 8),
    groups: used.map(({ group, limit, size, why = null, forMs, used, waiting, foreignUse, refused }) => {
      const until = forMs === undefined ? null : new Date(now.getTime() + forMs).toISOString();
      return { group, limit, size, why, until, used, waiting, foreignUse, refused };
    }),
  };
}

/** Age from which `status` names an open transaction, ms. */
const OLD_MS = 600_000;

const NO_BACKLOG: Backlog = { dueLists: 0, unfinishedRows: 0, fieldsToFill: 0 };

/** The expensive part of a status report: read at most once a minute. */
export async function readWorkload(db: Db, { history }: Pick<Config, 'history'>) {
  const size = await db.sql<{ bytes: number }>`
    select pg_database_size(current_database())::float8 as bytes`;
  return {
    databaseBytes: onlyRow(size).bytes,
    backlogs: await backlogsOf(db),
    credits: await creditsOf(db, history.kept),
    notes: await oldTransactions(db, OLD_MS),
  };
}

/** By account and collection (`42/lists`); those without a backlog are left out. */
async function backlogsOf(db: Db): Promise<ReadonlyMap<string, Backlog>> {
  const { rows } = await db.sql<{ _user_id: string; collection: string } & Backlog>`
    select b._user_id, b.collection, sum(b.lists)::float8 as "dueLists", sum(b.rows)::float8 as "unfinishedRows",
      sum(b.fields)::float8 as "fieldsToFill"
    from (
      select t._user_id, t.collection, count(*) as lists, 0 as rows, 0 as fields
      from ${db.stateTable('scope')} as t
      where t.parent <> '' and t.due_at is not null and t.gone_at is null group by t._user_id, t.collection
      union all
      select u._user_id, u.collection, 0, count(*), 0
      from ${db.stateTable('unsettled')} as u group by u._user_id, u.collection
      union all
      select f._user_id, f.collection, 0, 0, count(*)
      from ${db.stateTable('backfill')} as f group by f._user_id, f.collection
    ) as b
    group by b._user_id, b.collection`;
  return new Map(rows.map(({ _user_id: userId, collection, ...backlog }) => [`${userId}/${collection}`, backlog]));
}

/** Finds versions by their end (index account_history_age): a year of history costs no more than a day. */
async function creditsOf(db: Db, history: boolean): Promise<ReadonlyMap<string, AccountStatus['credits']>> {
  const { rows } = await db.sql<{ userId: string; left: string; burnt: string }>`
    select v._user_id as "userId", max(v.credits) filter (where v.stands)::text as left,
      coalesce(sum(v.before - v.credits) filter (where v.credits < v.before), 0)::text as burnt
    from (
      select w._user_id, w.credits, w.stands, lag(w.credits) over (partition by w._user_id order by w._change_id) as before
      from (
        select h._user_id, h._change_id, h.credits, false as stands
        from ${db.table('account')} as a
          join ${db.table('account_history')} as h on h._user_id = a._user_id
        where a._deleted_at is null and a.credits is not null
          and h._valid_to > now() - interval '24 hours' and h.credits is not null
        union all
        select a._user_id, a._change_id, a.credits, true
        from ${db.table('account')} as a where a._deleted_at is null and a.credits is not null) as w) as v
    group by v._user_id having bool_or(v.stands)`;
  return new Map(rows.map(({ userId, left, burnt }) => [userId, { left, burntLastDay: history ? burnt : null }]));
}

/** Notes on transactions open for `ageMs`, the oldest first. Others' are visible only with pg_read_all_stats. */
export async function oldTransactions(db: Db, ageMs: number): Promise<string[]> {
  const { rows } = await db.sql<{ pid: number; whose: string; ageMs: number }>`
    select pid, usename || coalesce(' (' || nullif(application_name, '') || ')', '') as whose,
      (extract(epoch from clock_timestamp() - xact_start) * 1000)::float8 as "ageMs"
    from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and coalesce(backend_type, 'client backend') = 'client backend'
      and (backend_xmin is not null or backend_xid is not null or state like 'idle in transaction%')
      and xact_start < clock_timestamp() - ${ageMs} * interval '1 ms'
    order by xact_start`;
  return rows.map(
    (each) =>
      `a transaction of ${each.whose} has been open for ${formatSpan(each.ageMs)}: vacuum can’t remove rows that it may still see. ` +
      `To end it, run "select pg_terminate_backend(${each.pid})"`,
  );
}

/** A cron line's demand: the readings of each interval, which cost at least one request each. */
export type CronLine = Readonly<{ name: CollectionName; readings: number; everyMs: number }>;

/** Intervals of lines that ask for more than the rate allows, ms; Infinity: never read. Polls go before lists. */
export function intervalsKept(polls: readonly CronLine[], lists: readonly CronLine[], perMinute: number) {
  const kept = new Map<CollectionName, number>();
  let left = perMinute / 60_000;
  for (const lines of [polls, lists]) {
    const asked = lines.reduce((sum, { readings, everyMs }) => sum + readings / everyMs, 0);
    if (asked > left) for (const { name, everyMs } of lines) kept.set(name, (everyMs * asked) / left);
    left = Math.max(0, left - asked);
  }
  return kept;
}

/** Notes on the account's cron lines that ask for more than its rate allows, if the rate is known. */
export function linesNotKept(
  { userId, collections, budgets, state }: AccountStatus,
  schedule: Pick<Schedule, 'of'>,
  now: Date,
): string[] {
  // Only one key is used at a time.
  const perMinute = Math.max(
    0,
    ...budgets.flatMap(({ groups }) => groups.flatMap(({ group, size }) => (group === READS ? [size] : []))),
  );
  if (perMinute === 0 || state !== 'active') return [];
  const next = schedule.of(userId);
  const rowsOf = new Map(collections.map((each) => [each.collection, each.liveRows]));
  const lines = collections.flatMap(({ collection: name, state: its }): (CronLine & { ofLists: boolean })[] => {
    const first = next(name, now).nextPollAt;
    const second = first && next(name, first).nextPollAt;
    if (!first || !second || its === 'paused') return [];
    const found = collection(name);
    const ofLists = found.kind === 'list' && found.parent !== undefined;
    const readings = ofLists ? (rowsOf.get(parentsOf(found).collection) ?? 0) : 1;
    return [{ name, readings, everyMs: second.getTime() - first.getTime(), ofLists }];
  });
  const kept = intervalsKept(
    lines.filter(({ ofLists }) => !ofLists),
    lines.filter(({ ofLists }) => ofLists),
    perMinute,
  );
  return lines.flatMap(({ name, readings, everyMs, ofLists }) => {
    const ms = kept.get(name);
    if (ms === undefined) return [];
    const what = ofLists ? `each of ${formatCount(readings)} lists is read` : 'polled';
    const often = Number.isFinite(ms) ? `every ${formatSpan(ms)} at best` : 'only with requests left over';
    return [
      `${userId}/${name}: ${what} ${often}, not every ${formatSpan(everyMs)} as MIRROR_POLL_CRON says: ` +
        `the account has a budget of ${formatCount(perMinute)} requests a minute`,
    ];
  });
}
