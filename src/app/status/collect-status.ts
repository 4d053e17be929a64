import { ordinal } from '@research-mirror/runtime/figures';
import type { BudgetSnapshot } from '../../budget/budget.ts';
import { storedSnapshot } from '../../budget/snapshot.ts';
import type { Config } from '../../config/config.ts';
import { knownKeys } from '../../db/accounts/api-keys.ts';
import type { Db } from '../../db/connection/db.ts';
import { readStoredStatus } from '../../db/status/stored-status.ts';
import type {
  AccountStatus,
  Facts,
  KeyBudgetStatus,
  KeyCounts,
  StatusReport,
} from '../../model/status/status-report.ts';
import type { AccountsService } from '../accounts/accounts-service.ts';
import { hashOfKey } from '../accounts/servable-keys.ts';
import { programVersion } from '../program-files.ts';
import { readSuspects, waitingDeletions } from './deletions.ts';
import { clockNotes, type FoundProblem, isAllReadAgain, judge, unreadyDatabase } from './problems.ts';
import { NO_BACKLOG, type Workload } from './workload.ts';

export interface StatusSources {
  readonly config: Config;
  readonly db: Db;
  /** The database in words, without password. */
  readonly words: string;
  /** The running daemon's accounts; undefined for a command, which has Postgres only. */
  readonly accounts: AccountsService | undefined;
  /** What is read less often than the rest. */
  readonly workload: () => Promise<Workload>;
  /** Why the running daemon can't write at the moment. */
  readonly unready?: string | undefined;
}

/** What is mirrored, how fresh it is, and what is wrong: from Postgres, and from the running daemon's memory. */
export async function statusReport(sources: StatusSources): Promise<StatusReport> {
  const { config, db, accounts: running, unready } = sources;
  const [stored, suspects] = await db.snapshot(async (trx) => {
    const found = await readStoredStatus(trx);
    return [found, await readSuspects(trx, found.now, config.gracePeriodMs)] as const;
  });
  const { now, processes, errors, held, recovery, clockBackMs } = stored;
  const { gracePeriodMs } = config;
  const { databaseBytes, backlogs, credits, notes } = await sources.workload();
  const storedBudgets = Map.groupBy(stored.budgets, ({ userId }) => userId);
  const runners = new Map((running?.runners() ?? []).map((each) => [each.userId, each]));
  const accounts = stored.accounts.map((account): AccountStatus => {
    const { userId } = account;
    const collections = account.collections.map((each) => ({
      ...each,
      ...(backlogs.get(`${userId}/${each.collection}`) ?? NO_BACKLOG),
    }));
    // Of accounts that this process reads as it has them, of others what is stored.
    const ours = runners.get(userId)?.current()?.account.source.keys;
    const budgets =
      ours?.map(({ keyHash, budget }) => budgetOf(keyHash, budget.snapshot(), now)) ??
      storedBudgets
        .get(userId)
        ?.map((each) => budgetOf(each.keyHash, storedSnapshot(each, config.budgetShare), now)) ??
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
  const known = unready === undefined ? keys.findings : [...keys.findings, unreadyDatabase(unready)];
  return judge(facts, known, [...clockNotes(clockBackMs), ...notes]);
}

/** Of a database that has not the tables, or not those of this program. @param why the one problem */
export function reportWithoutTables(
  config: Config,
  words: string,
  now: Date,
  why: FoundProblem,
): StatusReport {
  return judge(noFacts(config, words, now), [why]);
}

function noFacts({ service, schema }: Config, database: string, now: Date): Facts {
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

/**
 * The configured keys by what is known of them, and what is wrong with those that no account names.
 * @param running of keys that have an owner only the daemon knows whether they were refused last
 */
export async function lookAtKeys(
  { service }: Pick<Config, 'service'>,
  db: Db,
  running: Pick<AccountsService, 'runners' | 'unknownKeys'> | undefined,
  accounts: readonly Pick<AccountStatus, 'state' | 'error'>[],
): Promise<{ readonly counts: KeyCounts | null; readonly findings: FoundProblem[] }> {
  const hashes = (service?.keys ?? []).map(hashOfKey);
  const known = new Map((await knownKeys(db, hashes)).map((key) => [key.keyHash, key]));
  const refusedHere = new Set(
    (running?.runners() ?? []).flatMap((runner) => runner.current()?.account.source.refusedKeys() ?? []),
  );
  // An account that stopped for it says so itself.
  const told = new Set(accounts.filter(({ state }) => state === 'stopped').map(({ error }) => error));
  const counts = { good: 0, refused: 0, moved: 0, unasked: 0 };
  const findings: FoundProblem[] = [];
  const moves: FoundProblem[] = [];
  for (const [index, hash] of hashes.entries()) {
    const { userId, error, moved: what } = known.get(hash) ?? {};
    const asked = userId === undefined ? 'unasked' : 'good';
    const isRefused = error !== undefined || refusedHere.has(hash);
    counts[what !== undefined ? 'moved' : isRefused ? 'refused' : asked] += 1;
    const name = hash.slice(0, 8);
    const why =
      running === undefined ? (userId === undefined ? error : undefined) : running.unknownKeys().get(name);
    if (why !== undefined) {
      const place = ordinal(index + 1);
      findings.push({
        cause: 'key_refused',
        what: `the ${place} of MIRROR_API_KEY (${name}…) is of no use: ${why}`,
      });
    }
    if (what !== undefined && !told.has(what)) moves.push({ cause: 'account_moved', what });
  }
  return { counts: service === undefined ? null : counts, findings: [...findings, ...moves] };
}

function budgetOf(keyHash: string, { groups }: BudgetSnapshot, now: Date): KeyBudgetStatus {
  const used = groups.filter((each) => each.sent > 0 || each.used > 0);
  return {
    key: keyHash.slice(0, 8),
    groups: used.map(({ group, limit, size, why = null, forMs, used, waiting, foreignUse, refused }) => {
      const until = forMs === undefined ? null : new Date(now.getTime() + forMs).toISOString();
      return { group, limit, size, why, until, used, waiting, foreignUse, refused };
    }),
  };
}
