import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { saysAstray } from '../events/decisions.ts';
import { SERVICE_DOWN } from '../model/errors.ts';
import { wordsOfStep } from '../postgres/clock-step.ts';
import { refusalIn } from '../postgres/sql-state.ts';
import { type Problem, PROBLEM_CAUSES, PROBLEMS, withoutPlace } from './problem.ts';
import type { AccountStatus, CollectionStatus, Facts, StatusReport } from './status-report.ts';

/** A problem in one place. `byItself` and `remedy` replace those of `PROBLEMS`. */
export interface Finding
  extends Pick<Problem, 'cause' | 'what'>, Partial<Pick<Problem, 'since' | 'byItself' | 'remedy'>> {
  /** `42`, `42/lists`; undefined: the whole mirror. */
  readonly where?: string;
  /** Findings of equal cause and origin are one problem; without it, those of equal words. */
  readonly origin?: string;
}

/** Readings that may be late, and by how much that is a problem, ms. The view freshness says what is overdue. */
const LATE = [
  ['polls_late', 'polls are late', 'nextPollAt', 5 * 60_000],
  ['full_walks_late', 'full walks are late, so deletions are found late', 'nextFullAt', 15 * 60_000],
] as const;

/** Errors of a session that ended or could not be opened: no write was refused. */
const SESSION_LOST =
  /^(?:\d+ lists could not be read, the last one: )?the database can't (?:be reached: |do it now \((?:08...|57P0.) )/;

const NO_DAEMON = { byItself: 'nothing, because no daemon is running', remedy: 'run "research-mirror start"' } as const;

/**
 * Judges a mirror by what its readers get, not by what runs: a dead daemon shows by late polls.
 * @param known problems that the facts do not show: of keys, and of the database, which explain late readings
 * @param told notes that the facts do not show
 */
export function judge(facts: Facts, known: readonly Finding[] = [], told: readonly string[] = []): StatusReport {
  const { accounts, processes, held, recovery, deletions } = facts;
  const now = Date.parse(facts.at);
  const alive = new Set(processes.flatMap((each) => (each.alive ? each.processId : [])));
  // The account of a refused key is unknown: it may be any account that no daemon reads.
  const runsDaemon = processes.some((each) => each.alive && each.command === 'start');
  const unknownKey = runsDaemon && known.some(({ cause }) => cause === 'key_refused');
  const isUnready = known.some(({ cause }) => cause === 'database_unready' || cause === 'database_behind');
  const unread: string[] = [];
  const findings: Finding[] = [];
  for (const deletion of deletions.filter(({ cause }) => cause === 'refused')) {
    const { userId, collection, rows, examples, what, since, byItself, remedy } = deletion;
    const keys = `${examples.join(', ')}${rows > examples.length ? ', …' : ''}`;
    const where = `${userId}/${collection} (${countOf(rows, 'row')}: ${keys})`;
    findings.push({ cause: 'deletions_refused', what, since, where, byItself, remedy });
  }
  const notes: string[] = [];
  if (recovery?.open === true) {
    findings.push({ cause: 'database_went_back', what: recovery.reason, since: recovery.at });
  } else if (recovery !== null) {
    notes.push(
      `${recovery.at}: ${recovery.reason}. Everything has been read again since. Consumers of _change_id must compare once (docs/feeds.md)`,
    );
  }
  if (held !== null) {
    const waiting = accounts.reduce((sum, { submissions }) => sum + submissions.held, 0);
    findings.push({
      cause: 'submissions_held',
      what: `${waiting === 0 ? 'no webhook is registered or removed' : `${countOf(waiting, 'submission')} held`}: ${held.why}`,
      since: held.since,
    });
  }
  const start = alive.size > 0 ? {} : NO_DAEMON;
  if (accounts.length === 0 && !isUnready)
    findings.push({ cause: 'nothing_mirrored', what: 'no account has been mirrored yet', ...start });
  for (const account of accounts.filter(({ state }) => state !== 'retired')) {
    const asked = account.collections.filter((each) => each.state !== 'paused');
    notes.push(...notesOn(account, asked));
    // No daemon mirrors it: its state is no problem.
    if (asked.length === 0 && account.collections.length > 0) continue;
    if (account.state === 'stopped') findings.push(stoppedAccount(account, start));
    const isUnread = unknownKey && account.state === 'active' && !alive.has(account.owner ?? '');
    if (isUnread) unread.push(account.userId);
    const isExplained = isUnread || isUnready;
    findings.push(...asked.flatMap((each) => wrongIn(account, each, { now, start, isExplained })));
    findings.push(...webhookProblem(account));
  }
  if (alive.size === 0 && accounts.length > 0) notes.push('no daemon is running: the mirror stays as it is');
  const ofKeys = known.flatMap((each) => (each.cause === 'key_refused' ? refusedKey(each, unread) : [each]));
  const problems = groupProblems(oneServiceDown([...ofKeys, ...findings]));
  return { ...facts, healthy: problems.length === 0, problems, notes: [...notes, ...told] };
}

/** @param backMs by how much the database's clock went back; some seconds are no step */
export function clockNotes(backMs: number): string[] {
  return backMs < 60_000 ? [] : [`${wordsOfStep(-backMs)}: it is behind the last heartbeat of a daemon`];
}

/**
 * Whether everything that a database lost by going back was read again: each collection has had a full walk since, or
 * none is due.
 * @param at when it was noticed
 * @param gracePeriodMs a collection is complete as of that long before its walk began
 */
export function isAllReadAgain(
  accounts: readonly Pick<AccountStatus, 'state' | 'collections'>[],
  at: string,
  now: Date,
  gracePeriodMs: number,
): boolean {
  return accounts.every(({ state, collections }) =>
    collections.every(({ state: its, nextFullAt, completeAsOf }) => {
      if (state === 'retired' || its === 'paused') return true;
      if (nextFullAt === null || Date.parse(nextFullAt) > now.getTime()) return true;
      return completeAsOf !== null && Date.parse(completeAsOf) + gracePeriodMs >= Date.parse(at);
    }),
  );
}

/** One problem per origin, the worst first: with the words of its first finding and the earliest begin. */
export function groupProblems(findings: readonly Finding[]): Problem[] {
  const byOrigin = Map.groupBy(findings, ({ cause, origin, what, remedy }) =>
    JSON.stringify([cause, origin ?? [what, remedy]]),
  );
  const problems = [...byOrigin.values()].map((group) => {
    const [first] = group as [Finding, ...Finding[]];
    const { cause, what, byItself = PROBLEMS[cause][0], remedy = PROBLEMS[cause][1] } = first;
    const affects = [...new Set(group.flatMap(({ where }) => where ?? []))];
    const [since = null] = group.flatMap((each) => each.since ?? []).toSorted();
    return { cause, what, since, affects, byItself, remedy };
  });
  const place = ({ cause }: Problem): number => PROBLEM_CAUSES.indexOf(cause);
  return problems.toSorted((a, b) => place(a) - place(b));
}

/** Whatever failed first, it is one problem. */
export function unreadyDatabase(why: string): Finding {
  return { cause: 'database_unready', what: why, origin: 'database' };
}

export function blockedDeletions(
  userId: string,
  of: Pick<CollectionStatus, 'collection' | 'heldDeletions' | 'liveRows'>,
): Finding {
  const { collection, heldDeletions, liveRows } = of;
  return {
    cause: 'deletions_blocked',
    what: `the brake blocks deletions of ${collection}: this many at once look like a fault of the service`,
    where: `${userId}/${collection} (${formatCount(heldDeletions)} of ${countOf(liveRows, 'row')})`,
    remedy: `if they were deleted on purpose, run "research-mirror sync ${collection} --full --accept-deletions"`,
  };
}

/** Postgres refuses the service's newest versions of rows. */
export function staleRows(
  userId: string,
  { collection, staleRows: rows }: Pick<CollectionStatus, 'collection' | 'staleRows'>,
): Finding {
  return {
    cause: 'rows_stale',
    what: 'Postgres refuses the newest version of rows, so they stay as they were (mirror.stale_rows lists them, with time and reason)',
    where: `${userId}/${collection} (${countOf(rows, 'row')})`,
  };
}

/** Joins failures for the same reason, of requests sent before the service was known to be down, to `service_down`. */
function oneServiceDown(findings: readonly Finding[]): readonly Finding[] {
  const down = findings.find(({ cause }) => cause === 'service_down');
  if (down === undefined) return findings;
  const reason = withoutPlace(down.what.slice(SERVICE_DOWN.length));
  const { cause, what, origin = what } = down;
  return findings.map((each) =>
    each.cause === cause || (each.cause === 'collection_failing' && withoutPlace(each.what).includes(reason))
      ? { ...each, cause, what, origin }
      : each,
  );
}

/** @param unread accounts that no daemon reads: the key may be of one of them */
function refusedKey(key: Finding, unread: readonly string[]): Finding[] {
  if (unread.length === 0) return [key];
  const byItself = `${PROBLEMS.key_refused[0]}; no daemon reads the affected accounts`;
  return unread.map((where) => ({ ...key, where, byItself }));
}

function stoppedAccount({ userId: where, error }: AccountStatus, start: Partial<typeof NO_DAEMON>): Finding {
  const why = error ?? 'the reason is unknown';
  const stays = 'its rows stay as they are';
  // These messages have their own remedy.
  if (why.includes('research-mirror accounts')) {
    const of = ofOrigin('the account has stopped: ', why);
    return { cause: 'account_moved', ...of, where, byItself: `nothing happens; ${stays}` };
  }
  const of = ofOrigin('the account has stopped: all of its keys are refused: ', why);
  const byItself = start.byItself && { byItself: `${start.byItself}; ${stays}` };
  return { cause: 'account_stopped', ...of, where, ...byItself };
}

function wrongIn(
  { userId, state }: AccountStatus,
  each: CollectionStatus,
  { now, start, isExplained }: { now: number; start: Partial<typeof NO_DAEMON>; isExplained: boolean },
): Finding[] {
  const where = `${userId}/${each.collection}`;
  const found: Finding[] = [];
  // A stopped account is not tried again, as these problems would promise.
  if (each.state === 'failing' && state !== 'stopped') found.push(failure(where, each));
  if (each.heldDeletions > 0) found.push(blockedDeletions(userId, each));
  if (each.staleRows > 0) found.push(staleRows(userId, each));
  // Late readings are no further problem if they can't be written, or no daemon can read them.
  if (each.state !== 'overdue' || state === 'stopped' || isExplained) return found;
  for (const [cause, what, field, boundMs] of LATE) {
    const since = each[field];
    if (since === null || now - Date.parse(since) <= boundMs) continue;
    found.push({ cause, what, since, where, ...start });
  }
  // If the clock went back, all next runs lie ahead of it.
  if (each.polledAt !== null && Date.parse(each.polledAt) > now) {
    const what = 'nothing has been read since the database’s clock went back';
    const byItself = 'the daemon reopens the account within seconds';
    found.push({ cause: 'polls_late', what, where, byItself, ...start });
  }
  return found;
}

function failure(where: string, { lastError, failingSince: since }: CollectionStatus): Finding {
  const said = lastError ?? 'unknown';
  const { why, whole } = refusalIn(said) ?? {};
  if (whole === true || SESSION_LOST.test(said)) return { ...unreadyDatabase(why ?? said), since, where };
  const at = { since, where };
  if (why !== undefined) return { cause: 'database_refuses', ...ofOrigin('can’t be written: ', why), ...at };
  const down = said.indexOf(SERVICE_DOWN);
  // An error of lists quotes one of them.
  if (down !== -1) return { cause: 'service_down', ...ofOrigin('', said.slice(down)), ...at };
  const origin = withoutPlace(said.replace(/^\d+ lists could not be read, the last one: /, ''));
  return { cause: 'collection_failing', what: `can’t be read: ${said}`, origin, ...at };
}

function ofOrigin(before: string, why: string): Pick<Finding, 'what' | 'origin'> {
  return { what: `${before}${why}`, origin: withoutPlace(why) };
}

/** The registration's message (src/events/decisions.ts) names the remedy. */
function webhookProblem({ userId: where, webhook: { state, error } }: AccountStatus): Finding[] {
  const what = `webhook: ${error ?? state}`;
  if (saysAstray(error)) return [{ cause: 'webhook_astray', what, where }];
  if (state === 'suspect') return [{ cause: 'webhook_refused', what, where }];
  const displaced = state === 'stopped' || state === 'foreign';
  return displaced ? [{ cause: 'webhook_displaced', what, where }] : [];
}

/** What is not wrong, but a person may act on. @param asked its collections that are mirrored */
function notesOn(account: AccountStatus, asked: readonly CollectionStatus[]): string[] {
  const { userId, webhook, submissions, collections } = account;
  const { error, renewedSince } = webhook;
  const of = `webhook of account ${userId}`;
  const notes: string[] = [];
  const paused = collections.filter((each) => !asked.includes(each)).map((each) => each.collection);
  if (asked.length === 0 && paused.length > 0) {
    return [
      `account ${userId} is paused: no daemon has a key for it. To retire it, run "research-mirror accounts retire ${userId}"`,
    ];
  }
  if (paused.length > 0) notes.push(`${userId}: ${paused.join(', ')} paused: no daemon is configured to mirror them`);
  for (const { collection, quarantinedItems, fieldConflicts } of asked) {
    const where = `${userId}/${collection}`;
    if (quarantinedItems > 0) {
      const items = countOf(quarantinedItems, 'item');
      notes.push(
        `${where}: ${items} could not be mirrored. To list quarantined items, run "research-mirror quarantine list ${collection}"`,
      );
    }
    if (fieldConflicts > 0) {
      notes.push(
        `${where}: ${countOf(fieldConflicts, 'value')} did not fit their column. To list the columns, run "research-mirror columns". ` +
          `To try another type, run "research-mirror columns set-type ${collection}.COLUMN TYPE --dry-run"`,
      );
    }
  }
  if (renewedSince !== null) {
    notes.push(
      `${of}: it was removed or changed at the service (noticed ${renewedSince}) and has been registered again`,
    );
  }
  if (error !== null && webhookProblem(account).length === 0) notes.push(`${of}: ${error}`);
  if (submissions.unknown > 0) {
    notes.push(
      `${countOf(submissions.unknown, 'submission')} of account ${userId} ended with an unknown outcome in the last 24 h, and ` +
        `will not be sent again. To list ${submissions.unknown === 1 ? 'it' : 'them'}, run "research-mirror submissions list --state unknown"`,
    );
  }
  return notes;
}
