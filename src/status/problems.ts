import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { refusalIn } from '../postgres/sql-state.ts';
import { wordsOfStep } from '../postgres/clock-step.ts';
import { SERVICE_DOWN } from '../model/errors.ts';
import { type Problem, PROBLEM_CAUSES, PROBLEMS, withoutPlace } from './problem.ts';
import type {
  AccountStatus,
  CollectionStatus,
  Facts,
  StatusReport,
  WaitingDeletion,
} from './status-report.ts';
import { saysAstray } from '../events/decisions.ts';

/** One thing that is wrong, in one place; what happens by itself and what mends it, where `PROBLEMS` does not say it. */
export interface FoundProblem
  extends Pick<Problem, 'cause' | 'what'>, Partial<Pick<Problem, 'since' | 'byItself' | 'remedy'>> {
  /** `42`, `42/lists`; undefined: the whole mirror. */
  readonly where?: string;
  /** Findings of the same cause and key have one origin, whatever else they say; without it: those that say the same. */
  readonly origin?: string;
}

/** Readings that may be late, and by how much (ms) it is a problem; the view freshness says what is overdue. */
const LATE = [
  ['polls_late', 'polls are late', 'nextPollAt', 5 * 60_000],
  ['full_walks_late', 'full walks, which find deletions, are late', 'nextFullAt', 15 * 60_000],
] as const;

/**
 * A session that ended, or none that could be made: nothing that it was to write was refused. Another session can still
 * store that, just before none can be made.
 */
const SESSION_LOST =
  /^(?:\d+ lists could not be read, the last one: )?the database can't (?:be reached: |do it now \((?:08...|57P0.) )/;

/** What happens by itself where no daemon runs, and what mends that. */
const NO_DAEMON = { byItself: 'nothing: no daemon runs', remedy: '"research-mirror start"' } as const;

/**
 * Whether a mirror is healthy: judged by what readers get, not by what runs. A mirror is still healthy just after its
 * daemon has stopped; a dead daemon shows by late polls.
 * @param known what is wrong and the facts do not show: with keys, and why the database can't be written or read.
 *   Nothing is late then, and nothing to be begun
 * @param told notes of what the facts do not show
 */
export function judge(
  facts: Facts,
  known: readonly FoundProblem[] = [],
  told: readonly string[] = [],
): StatusReport {
  const { accounts, processes, held, recovery, deletions } = facts;
  const now = Date.parse(facts.at);
  const alive = new Set(processes.flatMap((each) => (each.alive ? each.processId : [])));
  // Of a key that is refused nobody knows whose it is: of an account that nobody reads.
  const runsDaemon = processes.some((each) => each.alive && each.command === 'start');
  const unknownKey = runsDaemon && known.some(({ cause }) => cause === 'key_refused');
  const isUnready = known.some(({ cause }) => cause === 'database_unready' || cause === 'database_behind');
  const unread: string[] = [];
  const findings: FoundProblem[] = deletions.flatMap(refusedDeletion);
  const notes: string[] = [];
  if (recovery?.open === true) {
    findings.push({ cause: 'database_went_back', what: recovery.reason, since: recovery.at });
  } else if (recovery !== null) {
    notes.push(
      `${recovery.at}: ${recovery.reason}; it was read again since. Consumers of _change_id compare once (docs/recipes.md)`,
    );
  }
  if (held !== null) {
    const waiting = accounts.reduce((sum, { submissions }) => sum + submissions.held, 0);
    findings.push({
      cause: 'submissions_held',
      what: `${waiting === 0 ? 'no webhook is taken over' : `${countOf(waiting, 'submission')} held`}: ${held.why}`,
      since: held.since,
    });
  }
  const start = alive.size > 0 ? {} : NO_DAEMON;
  if (accounts.length === 0 && !isUnready) {
    findings.push({ cause: 'nothing_mirrored', what: 'no account has been mirrored yet', ...start });
  }
  for (const account of accounts.filter(({ state }) => state !== 'retired')) {
    const asked = account.collections.filter((each) => each.state !== 'paused');
    notes.push(...notesOn(account, asked));
    // Nobody is asked to mirror it: its state is no problem.
    if (asked.length === 0 && account.collections.length > 0) continue;
    if (account.state === 'stopped') findings.push(stoppedAccount(account, start));
    const isUnread = unknownKey && account.state === 'active' && !alive.has(account.owner ?? '');
    if (isUnread) unread.push(account.userId);
    const isExplained = isUnread || isUnready;
    findings.push(...asked.flatMap((each) => wrongIn(account, each, { now, start, isExplained })));
    findings.push(...webhookProblem(account));
  }
  if (alive.size === 0 && accounts.length > 0) notes.push('no daemon runs: the mirror stays as it is');
  const ofKeys = known.flatMap((each) => (each.cause === 'key_refused' ? refusedKey(each, unread) : [each]));
  const problems = groupProblems(oneServiceDown([...ofKeys, ...findings]));
  return { ...facts, healthy: problems.length === 0, problems, notes: [...notes, ...told] };
}

/** @param backMs how far the database's clock is behind what it showed before; some seconds are no step */
export function clockNotes(backMs: number): string[] {
  return backMs < 60_000 ? [] : [`${wordsOfStep(-backMs)}: it is behind what it showed to a daemon before`];
}

/**
 * Whether all that a database that went back may have lost is read again. What nobody mirrors any more, retired or
 * paused, is not waited for; nor is a full walk that is due again after one that began behind it.
 * @param at when it was noticed
 * @param gracePeriodMs by which a collection is complete as of a moment before its walk began
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

/**
 * One problem for each origin, the worst first: it says what its first finding says, affects whatever any of them
 * does, and began with the earliest.
 */
export function groupProblems(findings: readonly FoundProblem[]): Problem[] {
  const byOrigin = Map.groupBy(findings, ({ cause, origin, what, remedy }) =>
    JSON.stringify([cause, origin ?? [what, remedy]]),
  );
  const problems = [...byOrigin.values()].map((group) => {
    const [first] = group as [FoundProblem, ...FoundProblem[]];
    const { cause, what, byItself = PROBLEMS[cause][0], remedy = PROBLEMS[cause][1] } = first;
    const affects = [...new Set(group.flatMap(({ where }) => where ?? []))];
    const [since = null] = group.flatMap((each) => each.since ?? []).toSorted();
    return { cause, what, since, affects, byItself, remedy };
  });
  const place = ({ cause }: Problem): number => PROBLEM_CAUSES.indexOf(cause);
  return problems.toSorted((a, b) => place(a) - place(b));
}

/** Nothing can be written: whatever failed first, it is one problem. */
export function unreadyDatabase(why: string): FoundProblem {
  return { cause: 'database_unready', what: why, origin: 'database' };
}

/** Deletions that the brake blocks. */
export function blockedDeletions(
  userId: string,
  of: Pick<CollectionStatus, 'collection' | 'heldDeletions' | 'liveRows'>,
): FoundProblem {
  const { collection } = of;
  return {
    cause: 'deletions_blocked',
    what: `the brake blocks deletions of ${collection}: so many at once look like a fault of the service`,
    where: `${userId}/${collection} (${formatCount(of.heldDeletions)} of ${countOf(of.liveRows, 'row')})`,
    remedy: `if they are gone on purpose: research-mirror sync ${collection} --full --accept-deletions`,
  };
}

/** Rows that are mirrored as they were, since Postgres refuses what the service has now. */
export function staleRows(
  userId: string,
  { collection, staleRows: rows }: Pick<CollectionStatus, 'collection' | 'staleRows'>,
): FoundProblem {
  return {
    cause: 'rows_stale',
    what: 'Postgres refuses the newest version of rows: they stay as they were (mirror.stale_rows says which, since when and why)',
    where: `${userId}/${collection} (${countOf(rows, 'row')})`,
  };
}

/** One cause, whoever met it: what was asked before all requests were stopped failed by the same reason. */
function oneServiceDown(findings: readonly FoundProblem[]): readonly FoundProblem[] {
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

/** @param unread accounts that no daemon reads: one of them may be the key's */
function refusedKey(key: FoundProblem, unread: readonly string[]): FoundProblem[] {
  if (unread.length === 0) return [key];
  const byItself = `${PROBLEMS.key_refused[0]}; no daemon reads the affected accounts`;
  return unread.map((where) => ({ ...key, where, byItself }));
}

function stoppedAccount(
  { userId: where, error }: AccountStatus,
  start: Partial<typeof NO_DAEMON>,
): FoundProblem {
  const why = error ?? 'no reason is known';
  const stays = 'its data stay as they are';
  // What happened to a key says itself what to do.
  if (why.includes('research-mirror accounts')) {
    const of = ofOrigin('account has stopped: ', why);
    return { cause: 'account_moved', ...of, where, byItself: `nothing: ${stays}` };
  }
  const of = ofOrigin('account has stopped: each of its keys is refused: ', why);
  const byItself = start.byItself && { byItself: `${start.byItself}; ${stays}` };
  return { cause: 'account_stopped', ...of, where, ...byItself };
}

function wrongIn(
  { userId, state }: AccountStatus,
  each: CollectionStatus,
  { now, start, isExplained }: { now: number; start: Partial<typeof NO_DAEMON>; isExplained: boolean },
): FoundProblem[] {
  const where = `${userId}/${each.collection}`;
  const found: FoundProblem[] = [];
  // Nothing of a stopped account is read: neither failing nor overdue collections are tried again, as they promise.
  if (each.state === 'failing' && state !== 'stopped') found.push(failure(where, each));
  if (each.heldDeletions > 0) found.push(blockedDeletions(userId, each));
  if (each.staleRows > 0) found.push(staleRows(userId, each));
  // What can't be written, or is nobody's to read, is not read: that it is late is no further problem.
  if (each.state !== 'overdue' || state === 'stopped' || isExplained) return found;
  for (const [cause, what, field, boundMs] of LATE) {
    const since = each[field];
    if (since === null || now - Date.parse(since) <= boundMs) continue;
    found.push({ cause, what, since, where, ...start });
  }
  // Nothing is late by a clock that went back: all next runs lie ahead of it.
  if (each.polledAt !== null && Date.parse(each.polledAt) > now) {
    const what = 'nothing was read since the database’s clock went back';
    const byItself = 'the daemon opens the account again within seconds';
    found.push({ cause: 'polls_late', what, where, byItself, ...start });
  }
  return found;
}

function failure(where: string, { lastError, failingSince: since }: CollectionStatus): FoundProblem {
  const said = lastError ?? 'unknown';
  const { why, whole } = refusalIn(said) ?? {};
  if (whole === true || SESSION_LOST.test(said)) return { ...unreadyDatabase(why ?? said), since, where };
  const at = { since, where };
  if (why !== undefined) return { cause: 'database_refuses', ...ofOrigin('can’t be written: ', why), ...at };
  const down = said.indexOf(SERVICE_DOWN);
  // One list's error is quoted with how many of them failed.
  if (down !== -1) return { cause: 'service_down', ...ofOrigin('', said.slice(down)), ...at };
  const origin = withoutPlace(said.replace(/^\d+ lists could not be read, the last one: /, ''));
  return { cause: 'collection_failing', what: `can’t be read: ${said}`, origin, ...at };
}

function ofOrigin(before: string, why: string): Pick<FoundProblem, 'what' | 'origin'> {
  return { what: `${before}${why}`, origin: withoutPlace(why) };
}

function refusedDeletion(waiting: WaitingDeletion): FoundProblem[] {
  const { cause, userId, collection, rows, examples, what, since, byItself, remedy } = waiting;
  if (cause !== 'refused') return [];
  const keys = `${examples.join(', ')}${rows > examples.length ? ', …' : ''}`;
  const where = `${userId}/${collection} (${countOf(rows, 'row')}: ${keys})`;
  return [{ cause: 'deletions_refused', what, since, where, byItself, remedy }];
}

/** The registration's own message (src/events/decisions.ts) names the remedy. */
function webhookProblem({ userId: where, webhook: { state, error } }: AccountStatus): FoundProblem[] {
  const what = `webhook: ${error ?? state}`;
  if (saysAstray(error)) return [{ cause: 'webhook_astray', what, where }];
  if (state === 'suspect') return [{ cause: 'webhook_refused', what, where }];
  const displaced = state === 'stopped' || state === 'foreign';
  return displaced ? [{ cause: 'webhook_displaced', what, where }] : [];
}

/** What is not wrong, but something a person may act on. @param asked those of its collections that are mirrored */
function notesOn(account: AccountStatus, asked: readonly CollectionStatus[]): string[] {
  const { userId, webhook, submissions, collections } = account;
  const { error, renewedSince } = webhook;
  const of = `webhook of account ${userId}`;
  const notes: string[] = [];
  const paused = collections.filter((each) => !asked.includes(each)).map((each) => each.collection);
  if (asked.length === 0 && paused.length > 0) {
    return [
      `account ${userId} is paused: no daemon has a key of it; "research-mirror accounts retire ${userId}" takes it out`,
    ];
  }
  if (paused.length > 0)
    notes.push(`${userId}: ${paused.join(', ')} paused: no daemon is asked to mirror them`);
  for (const { collection, quarantinedItems, fieldConflicts } of asked) {
    const where = `${userId}/${collection}`;
    if (quarantinedItems > 0) {
      const items = countOf(quarantinedItems, 'item');
      notes.push(`${where}: ${items} could not be mirrored: "research-mirror quarantine list ${collection}"`);
    }
    if (fieldConflicts > 0) {
      notes.push(
        `${where}: ${countOf(fieldConflicts, 'value')} did not fit their column: "research-mirror columns" shows which, ` +
          `"research-mirror columns set-type ${collection}.COLUMN TYPE --dry-run" tries another type`,
      );
    }
  }
  if (renewedSince !== null) {
    notes.push(
      `${of}: it was removed or changed at the service (noticed ${renewedSince}), and is registered again`,
    );
  }
  if (error !== null && webhookProblem(account).length === 0) notes.push(`${of}: ${error}`);
  if (submissions.unknown > 0) {
    notes.push(
      `${countOf(submissions.unknown, 'submission')} of account ${userId} ended with an unknown outcome in the last 24 h, and ` +
        `${submissions.unknown === 1 ? 'is' : 'are'} never sent again: "research-mirror submissions list --state unknown"`,
    );
  }
  return notes;
}
