import { sql } from 'kysely';
import type { Db } from '../../db/connection/db.ts';
import type { BudgetSnapshot } from '../../budget/budget.ts';
import { storedSnapshot } from '../../budget/snapshot.ts';
import type { Config } from '../../config/config.ts';
import { movedKeys } from '../../db/accounts/account-identity.ts';
import { knownKeys } from '../../db/accounts/api-keys.ts';
import { readStoredStatus } from '../../db/status/stored-status.ts';
import { NO_BACKLOG, readWorkload, type Workload } from '../../db/status/workload.ts';
import type { LatestChange } from '../../model/status/latest-change.ts';
import type { ProblemCause } from '../../model/status/problem.ts';
import type {
  AccountStatus,
  ActivityStatus,
  KeyBudgetStatus,
  KeyCounts,
  StatusReport,
} from '../../model/status/status-report.ts';
import { isAnnounced } from '../../mirror/scope/scope-store.ts';
import { LONGEST_MS, PRIOR_MS } from '../../plan/change-rate.ts';
import type { AccountsService } from '../accounts/accounts-service.ts';
import { createSchedule } from '../accounts/next-runs.ts';
import { notesOnStretchedLists } from './stretched-lists.ts';
import { notesOnWorkload } from './workload-notes.ts';
import { type FoundProblem, groupProblems } from './group-problems.ts';
import { judgeDeletions, refusedDeletions } from './judge-deletions.ts';
import { judgeRecovery, judgeStatus, noteOnClock, unreadyDatabase } from './judge-status.ts';
import { ordinal } from '@research-mirror/runtime/figures';
import { programVersion } from '../program-files.ts';
import { whatIsNext } from './what-is-next.ts';
import { countKeys } from './key-counts.ts';
import { hashOfKey } from '../accounts/servable-keys.ts';

export interface StatusSources {
  readonly config: Config;
  readonly db: Db;
  /** The database in words, without password. */
  readonly words: string;
  /** The running daemon's accounts; undefined for a command, which has Postgres only. */
  readonly accounts: AccountsService | undefined;
  /** What is read less often than the rest. */
  readonly workload: () => Promise<Workload>;
  /** By account; left out: who asks does not show it. */
  readonly activity?: (() => Promise<ReadonlyMap<string, ActivityStatus>>) | undefined;
  /** The newest first; left out: who asks does not show them. */
  readonly latestChanges?: (() => Promise<readonly LatestChange[]>) | undefined;
  /** Why the running daemon can't write at the moment. */
  readonly unready?: string | undefined;
}

/** What of a report is read less often than the rest. */
export function workloadOf(db: Db, { history }: Pick<Config, 'history'>): Promise<Workload> {
  return readWorkload(db, {
    history: history.kept,
    priorMs: PRIOR_MS.list,
    isAnnounced: isAnnounced('s', sql`now()`, LONGEST_MS),
  });
}

/** What is mirrored, how fresh it is, and what is wrong: from Postgres, and from the running daemon's memory. */
export async function statusReport({
  config,
  db,
  words,
  accounts,
  workload,
  activity,
  latestChanges,
  unready,
}: StatusSources): Promise<StatusReport> {
  const stored = await readStoredStatus(db);
  const { databaseBytes, backlogs, credits, learnt, ...more } = await workload();
  const lastDay = await activity?.();
  const budgets = budgetsByUser(accounts, stored.now);
  const schedule = createSchedule(config);
  const found = stored.accounts.map((account) => ({
    ...account,
    collections: account.collections.map((each) => ({
      ...each,
      ...(backlogs.get(`${account.userId}/${each.collection}`) ?? NO_BACKLOG),
    })),
    credits: credits.get(account.userId) ?? null,
    activity: lastDay?.get(account.userId) ?? null,
    budgets:
      budgets.get(account.userId) ??
      account.budgets.map((each) =>
        budgetStatus(each.keyHash, storedSnapshot(each, config.budgetShare), stored.now),
      ),
  }));
  const statuses = found.map((each): AccountStatus => ({
    ...each,
    next: whatIsNext(each, schedule, stored.now),
  }));
  const judged = judgeStatus(statuses, stored.processes, stored.now, stored.held);
  const unknown = accounts?.unknownKeys() ?? (await refusedKeys(config, db));
  const places = placesOfKeys(config);
  const recovery = judgeRecovery(stored.recovery);
  const problems = groupProblems([
    ...(unready === undefined ? [] : [unreadyDatabase(unready)]),
    ...[...unknown].map(([name, why]) => refusedKey(places.get(name), name, why)),
    ...(await movedBesideOthers(config, db, statuses)).map(movedKey),
    ...recovery.findings,
    ...judged.findings.filter(({ cause }) => unready === undefined || !isLate(cause)),
    ...refusedDeletions(stored.missed),
  ]);
  return {
    version: programVersion(),
    at: stored.now.toISOString(),
    healthy: problems.length === 0,
    problems,
    notes: [
      ...recovery.notes,
      ...judged.notes,
      ...noteOnClock(stored.clockBackMs),
      ...notesOnCompleteness(statuses, stored.begun, config.gracePeriodMs),
      ...notesOnStretchedLists(statuses, schedule, learnt, stored.now),
      ...notesOnWorkload(more),
    ],
    service: config.service?.url ?? null,
    database: words,
    databaseBytes,
    schema: config.schema,
    keys: await keysOf(config, db, accounts),
    processes: stored.processes,
    accounts: statuses,
    errors: stored.errors,
    deletions: judgeDeletions(statuses, stored, config.gracePeriodMs),
    latestChanges: (await latestChanges?.()) ?? [],
    held: stored.held,
    recovery: stored.recovery,
  };
}

/** It puzzles for the first day: what it rests on. */
function notesOnCompleteness(
  accounts: readonly Pick<AccountStatus, 'userId' | 'collections'>[],
  begun: ReadonlyMap<string, Date>,
  gracePeriodMs: number,
): string[] {
  return accounts
    .filter(({ userId, collections }) =>
      collections.some(
        ({ completeAsOf }) => completeAsOf !== null && new Date(completeAsOf) < (begun.get(userId) ?? 0),
      ),
    )
    .map(
      ({ userId }) =>
        `account ${userId} is complete as of a moment before its mirror began: it is when a full walk began, less MIRROR_SETTLE (${gracePeriodMs / 1000} s), since the service may have answered from a copy as old as that`,
    );
}

/** While nothing can be written, nothing is read: that it is late is no further problem. */
function isLate(cause: ProblemCause): boolean {
  return cause === 'polls_late' || cause === 'full_walks_late';
}

/** @param place of the key among those of MIRROR_API_KEY, from 1 up; undefined: it is none of them */
function refusedKey(place: number | undefined, name: string, why: string): FoundProblem {
  const which = place === undefined ? 'an API key' : `the ${ordinal(place)} of MIRROR_API_KEY`;
  return {
    cause: 'key_refused',
    what: `${which} (${name}…) is of no use: ${why}`,
    byItself: 'it is asked again, later and later; the other keys go on',
    remedy: 'put the right key in its place, and start again',
  };
}

function movedKey(why: string): FoundProblem {
  return {
    cause: 'account_moved',
    what: why,
    byItself: 'the other keys go on',
  };
}

/** Places of the configured keys, from 1 up, by short hash. */
function placesOfKeys(config: Config): ReadonlyMap<string, number> {
  return new Map((config.service?.keys ?? []).map((key, index) => [hashOfKey(key).slice(0, 8), index + 1]));
}

/** Configured keys whose ping was refused and that never had an owner, by short hash: as far as it is stored. */
async function refusedKeys(config: Config, db: Db): Promise<ReadonlyMap<string, string>> {
  const found = await knownKeys(db, (config.service?.keys ?? []).map(hashOfKey));
  return new Map(
    found.flatMap(({ keyHash, userId, error }) =>
      userId === undefined && error !== undefined ? [[keyHash.slice(0, 8), error] as const] : [],
    ),
  );
}

async function keysOf(
  { service }: Config,
  db: Db,
  accounts: AccountsService | undefined,
): Promise<KeyCounts | null> {
  if (service === undefined) return null;
  const refused = (accounts?.runners() ?? []).flatMap(
    (runner) => runner.current()?.account.source.refusedKeys() ?? [],
  );
  return countKeys(db, service.keys.map(hashOfKey), new Set(refused));
}

/** Configured keys that answer for another account now; an account that stopped for it says so itself. */
async function movedBesideOthers(
  config: Config,
  db: Db,
  accounts: readonly AccountStatus[],
): Promise<string[]> {
  const moved = await movedKeys(db, (config.service?.keys ?? []).map(hashOfKey));
  const knownErrors = new Set(accounts.filter(({ state }) => state === 'stopped').map(({ error }) => error));
  return moved.filter(({ why }) => !knownErrors.has(why)).map(({ why }) => why);
}

function budgetsByUser(
  accounts: AccountsService | undefined,
  now: Date,
): ReadonlyMap<string, readonly KeyBudgetStatus[]> {
  const found = new Map<string, readonly KeyBudgetStatus[]>();
  for (const runner of accounts?.runners() ?? []) {
    const current = runner.current();
    // Of an account that another process reads, Postgres knows more.
    if (current === undefined) continue;
    found.set(
      runner.userId,
      current.account.source.keys.map(({ keyHash, budget }) => budgetStatus(keyHash, budget.snapshot(), now)),
    );
  }
  return found;
}

function budgetStatus(keyHash: string, { groups }: BudgetSnapshot, now: Date): KeyBudgetStatus {
  return {
    key: keyHash.slice(0, 8),
    groups: groups
      .filter(({ sent, used }) => sent > 0 || used > 0)
      .map(({ group, limit, size, why = null, forMs, used, waiting, foreignUse, pausedForMs, refused }) => {
        const until = forMs === undefined ? null : new Date(now.getTime() + forMs).toISOString();
        return { group, limit, size, why, until, used, waiting, foreignUse, pausedForMs, refused };
      }),
  };
}
