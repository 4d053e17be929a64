import type {
  AccountStatus,
  CollectionStatus,
  HoldStatus,
  ProcessStatus,
  RecoveryStatus,
} from '../../model/status/status-report.ts';
import { refusalIn } from '../../db/connection/sql-state.ts';
import { SERVICE_DOWN } from '../../model/errors.ts';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { wordsOfStep } from '../../db/ownership/clock-step.ts';
import type { FoundProblem } from './group-problems.ts';
import { type HealthJudgement, judgeWebhookAndSubmissions } from './judge-webhook-and-submissions.ts';

/** How late (ms) an overdue poll or full walk is a problem; the view freshness says what is overdue. */
const LATE_POLL = 5 * 60_000;
const LATE_FULL = 15 * 60_000;

/** The scope, the request that met it, its cursor, and numbers: what one origin says differently in each place. */
const OF_ONE_PLACE = /\d+\/[a-z_]+(?:\/\S+)?: |\b[A-Z]{3,7} \/\S*|\((?:after "[^"]*"|from the top)\)|\d+/g;

/** A session that ended, or none that could be made: nothing that it was to write was refused. */
const SESSION_LOST =
  /^(?:\d+ lists could not be read, the last one: )?the database can't (?:be reached: |do it now \((?:08...|57P0.) )/;

const WAITS_FOR_DAEMON = 'nothing: no daemon runs';

/** What is the same wherever the same origin is met. */
export function withoutPlace(why: string): string {
  return why.replaceAll(OF_ONE_PLACE, '');
}

/**
 * Whether a mirror is healthy: judged by what readers get, not by what runs. A mirror is still healthy just after its
 * daemon has stopped; a dead daemon shows by late polls.
 * @param now the database's time
 * @param held the hold on submissions; null: none
 */
export function judgeStatus(
  accounts: readonly AccountStatus[],
  processes: readonly ProcessStatus[],
  now: Date,
  held: HoldStatus | null,
): HealthJudgement {
  const running = processes.some(({ alive }) => alive);
  const findings: FoundProblem[] = [];
  const notes: string[] = [];
  if (accounts.length === 0) findings.push(nothingMirrored(running));
  for (const account of accounts) {
    const { userId, state } = account;
    if (state === 'retired') {
      notes.push(
        `account ${userId} is retired: "research-mirror accounts retire ${userId} --undo" takes it back`,
      );
      continue;
    }
    const collections = account.collections.filter((each) => each.state !== 'paused');
    notes.push(...pausedIn(account, collections));
    // Nobody is asked to mirror it: its state is no problem.
    if (collections.length === 0 && account.collections.length > 0) continue;
    const stopped = state === 'stopped';
    if (stopped) findings.push(stoppedAccount(account, running));
    // Nothing of a stopped account is read: neither failing nor overdue collections are tried again, as they promise.
    const read = stopped ? [] : collections;
    const failing = read.filter((each) => each.state === 'failing');
    const overdue = read.filter((each) => each.state === 'overdue');
    findings.push(
      ...failing.map((each) => failingCollection(userId, each)),
      ...collections.flatMap((each) => blockedDeletions(userId, each)),
      ...collections.flatMap((each) => staleRows(userId, each)),
      ...lateOnes(LATE_POLLS, { userId, overdue, now, running }),
      ...lateOnes(LATE_FULL_WALKS, { userId, overdue, now, running }),
      ...notSinceClockBack({ userId, overdue, now, running }),
    );
    for (const each of collections) notes.push(...notesOn(userId, each));
  }
  const further = judgeWebhookAndSubmissions(accounts.filter(isAssigned), held, running);
  findings.push(...further.findings);
  notes.push(...further.notes);
  if (!running && accounts.length > 0) notes.push('no daemon runs: the mirror stays as it is');
  return { findings: oneServiceDown(findings), notes };
}

/** One cause, whoever met it: what was asked before all requests were stopped failed by the same reason. */
function oneServiceDown(findings: readonly FoundProblem[]): FoundProblem[] {
  const down = findings.find(({ cause }) => cause === 'service_down');
  if (down === undefined) return [...findings];
  const reason = withoutPlace(down.what.slice(SERVICE_DOWN.length));
  const { cause, what, origin = what, byItself, remedy } = down;
  return findings.map((each) =>
    each.cause === cause || (each.cause === 'collection_failing' && withoutPlace(each.what).includes(reason))
      ? { ...each, cause, what, origin, byItself, remedy }
      : each,
  );
}

function nothingMirrored(running: boolean): FoundProblem {
  return {
    cause: 'nothing_mirrored',
    what: 'no account has been mirrored yet',
    byItself: running ? 'mirroring begins as soon as it is known whose the keys are' : WAITS_FOR_DAEMON,
    remedy: running ? null : '"research-mirror start"',
  };
}

function stoppedAccount({ userId, error }: AccountStatus, running: boolean): FoundProblem {
  const why = error ?? 'no reason is known';
  // What happened to a key says itself what to do.
  const saysRemedy = why.includes('research-mirror accounts');
  return {
    cause: saysRemedy ? 'account_moved' : 'account_stopped',
    what: `account has stopped: ${saysRemedy ? why : `each of its keys is refused: ${why}`}`,
    where: userId,
    origin: withoutPlace(why),
    byItself: saysRemedy
      ? 'nothing: its data stay as they are'
      : running
        ? 'its keys are asked again, at the latest after 15 minutes, and it goes on as soon as one is good; its data stay as they are'
        : `${WAITS_FOR_DAEMON}; its data stay as they are`,
    remedy: saysRemedy ? null : 'set a good key in MIRROR_API_KEY, and start again',
  };
}

function failingCollection(
  userId: string,
  { collection, lastError, failingSince }: CollectionStatus,
): FoundProblem {
  const said = lastError ?? 'unknown';
  const where = `${userId}/${collection}`;
  const refused = refusalIn(said);
  if (isOfDatabase(said)) return { ...unreadyDatabase(refused?.why ?? said), since: failingSince, where };
  if (refused !== undefined) {
    return {
      cause: 'database_refuses',
      what: `can’t be written: ${refused.why}`,
      since: failingSince,
      where,
      origin: withoutPlace(refused.why),
      byItself: 'it is tried again, at the latest after 5 minutes',
      remedy: 'take away what refuses it: "research-mirror doctor" names triggers, rules and their like',
    };
  }
  // One list's error is quoted with how many of them failed.
  const down = said.includes(SERVICE_DOWN);
  const why = down ? said.slice(said.indexOf(SERVICE_DOWN)) : said;
  return {
    cause: down ? 'service_down' : 'collection_failing',
    what: down ? why : `can’t be read: ${why}`,
    since: failingSince,
    where,
    origin: withoutPlace(why),
    byItself: down
      ? 'one request at a time tries it; mirroring goes on as soon as it answers'
      : 'it is tried again, at the latest after 5 minutes',
    remedy: '"research-mirror doctor" finds out why',
  };
}

/**
 * Whether a failure, as it is stored, says nothing of its collection: the whole database takes no writes, or the session
 * was ended. That can still be stored by another session, just before none can be.
 */
export function isOfDatabase(said: string): boolean {
  return SESSION_LOST.test(said) || refusalIn(said)?.whole === true;
}

/** Nothing can be written: whatever failed first, it is one problem. */
export function unreadyDatabase(why: string): FoundProblem {
  return {
    cause: 'database_unready',
    what: why,
    origin: 'database',
    byItself: 'it is tried again all the time',
    remedy: '"research-mirror doctor" says what is in the way',
  };
}

function isAssigned({ state, collections }: AccountStatus): boolean {
  return (
    state !== 'retired' && !(collections.length > 0 && collections.every((each) => each.state === 'paused'))
  );
}

/** Says which of the account's collections no daemon is asked to mirror. */
function pausedIn({ userId, collections }: AccountStatus, asked: readonly CollectionStatus[]): string[] {
  const paused = collections.filter((each) => !asked.includes(each)).map((each) => each.collection);
  if (paused.length === 0) return [];
  if (asked.length > 0) return [`${userId}: ${paused.join(', ')} paused: no daemon is asked to mirror them`];
  return [
    `account ${userId} is paused: no daemon has a key of it; "research-mirror accounts retire ${userId}" takes it out`,
  ];
}

/** Which deletions the brake blocks; [] where it blocks none. */
export function blockedDeletions(
  userId: string,
  {
    collection,
    heldDeletions,
    liveRows,
  }: Pick<CollectionStatus, 'collection' | 'heldDeletions' | 'liveRows'>,
): FoundProblem[] {
  if (heldDeletions === 0) return [];
  const share = `${formatCount(heldDeletions)} of ${countOf(liveRows, 'row')}`;
  return [
    {
      cause: 'deletions_blocked',
      what: `the brake blocks deletions of ${collection}: so many at once look like a fault of the service`,
      where: `${userId}/${collection} (${share})`,
      byItself: 'they are deleted as soon as fewer are missing, or the share falls within a day',
      remedy: `if they are gone on purpose: research-mirror sync ${collection} --full --accept-deletions`,
    },
  ];
}

/** Rows that are mirrored as they were, since Postgres refuses what the service has now; [] where there are none. */
export function staleRows(
  userId: string,
  { collection, staleRows: rows }: Pick<CollectionStatus, 'collection' | 'staleRows'>,
): FoundProblem[] {
  if (rows === 0) return [];
  return [
    {
      cause: 'rows_stale',
      what: 'Postgres refuses the newest version of rows: they stay as they were (mirror.stale_rows says which, since when and why)',
      where: `${userId}/${collection} (${countOf(rows, 'row')})`,
      byItself: 'they are tried again with each full walk',
      remedy:
        'take away what refuses them (a constraint, a column that may not be null, a trigger); then "research-mirror sync --full"',
    },
  ];
}

interface Lateness {
  readonly cause: 'polls_late' | 'full_walks_late';
  /** The beginning of the sentence. */
  readonly subject: string;
  readonly due: 'nextPollAt' | 'nextFullAt';
  /** How late (ms) is too late. */
  readonly boundMs: number;
}

const LATE_POLLS: Lateness = {
  cause: 'polls_late',
  subject: 'polls are',
  due: 'nextPollAt',
  boundMs: LATE_POLL,
};
const LATE_FULL_WALKS: Lateness = {
  cause: 'full_walks_late',
  subject: 'full walks, which find deletions, are',
  due: 'nextFullAt',
  boundMs: LATE_FULL,
};

interface LateLook {
  readonly userId: string;
  readonly overdue: readonly CollectionStatus[];
  readonly now: Date;
  readonly running: boolean;
}

function lateOnes({ cause, subject, due, boundMs }: Lateness, look: LateLook): FoundProblem[] {
  const { userId, overdue, now, running } = look;
  return overdue
    .map((each) => ({ collection: each.collection, at: each[due] }))
    .filter((each): each is typeof each & { at: string } => each.at !== null)
    .filter(({ at }) => now.getTime() - Date.parse(at) > boundMs)
    .map(({ collection, at }) => ({
      cause,
      what: `${subject} late`,
      since: at,
      where: `${userId}/${collection}`,
      byItself: running ? 'they are made up as soon as the daemon comes to it' : WAITS_FOR_DAEMON,
      remedy: running ? null : '"research-mirror start"',
    }));
}

/** Nothing is late by a clock that went back: all next runs lie ahead of it. */
function notSinceClockBack({ userId, overdue, now, running }: LateLook): FoundProblem[] {
  return overdue
    .filter(({ polledAt }) => polledAt !== null && Date.parse(polledAt) > now.getTime())
    .map(({ collection }) => ({
      cause: 'polls_late',
      what: 'nothing was read since the database’s clock went back',
      where: `${userId}/${collection}`,
      byItself: running ? 'the daemon opens the account again within seconds' : WAITS_FOR_DAEMON,
      remedy: running ? null : '"research-mirror start"',
    }));
}

/** @param backMs how far the database's clock is behind what it showed before; some seconds are no step */
export function noteOnClock(backMs: number): string[] {
  return backMs < 60_000 ? [] : [`${wordsOfStep(-backMs)}: it is behind what it showed to a daemon before`];
}

function notesOn(userId: string, each: CollectionStatus): string[] {
  const where = `${userId}/${each.collection}`;
  const notes: string[] = [];
  if (each.quarantinedItems > 0) {
    notes.push(
      `${where}: ${countOf(each.quarantinedItems, 'item')} could not be mirrored (table quarantine)`,
    );
  }
  if (each.fieldConflicts > 0) {
    notes.push(
      `${where}: ${countOf(each.fieldConflicts, 'value')} did not fit their column: "research-mirror columns" shows which, ` +
        `"research-mirror columns set-type ${each.collection}.COLUMN TYPE --dry-run" tries another type`,
    );
  }
  return notes;
}

/** A database that went back is a problem until full walks have read again what it may have lost. */
export function judgeRecovery(recovery: RecoveryStatus | null): HealthJudgement {
  if (recovery === null) return { findings: [], notes: [] };
  const { at, reason, open } = recovery;
  if (open) {
    const finding: FoundProblem = {
      cause: 'database_went_back',
      what: reason,
      since: at,
      byItself: 'what it may have lost is read again by full walks, which are due',
      remedy: '"research-mirror sync --full" does it now',
    };
    return { findings: [finding], notes: [] };
  }
  const note = `${at}: ${reason}; it was read again since. Consumers of _change_id compare once (docs/recipes.md)`;
  return { findings: [], notes: [note] };
}
