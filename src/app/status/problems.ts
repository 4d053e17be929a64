import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { refusalIn } from '../../db/connection/sql-state.ts';
import { wordsOfStep } from '../../db/ownership/clock-step.ts';
import { SERVICE_DOWN } from '../../model/errors.ts';
import { type Problem, PROBLEM_CAUSES } from '../../model/status/problem.ts';
import type {
  AccountStatus,
  CollectionStatus,
  Facts,
  Judgement,
  WaitingDeletion,
} from '../../model/status/status-report.ts';
import { saysAstray } from '../../webhooks/registration/remedies.ts';

/** One thing that is wrong, in one place. */
export interface FoundProblem extends Omit<Problem, 'affects' | 'since' | 'remedy'> {
  readonly since?: Problem['since'] | undefined;
  readonly remedy?: Problem['remedy'] | undefined;
  /** `42`, `42/lists`; undefined: the whole mirror. */
  readonly where?: string;
  /** Findings of the same cause and key have one origin, whatever else they say; without it: those that say the same. */
  readonly origin?: string;
}

/** What the facts do not show. */
interface Further {
  /** The database can't be written, or its tables can't be read: nothing is late then, and nothing to be begun. */
  readonly unready?: FoundProblem | undefined;
  /** What is wrong with keys. */
  readonly keys?: readonly FoundProblem[];
  /** How far the database's clock is behind what it showed before; some seconds are no step. */
  readonly clockBackMs?: number;
}

/** Readings that may be late, and by how much (ms) it is a problem; the view freshness says what is overdue. */
const LATE = [
  ['polls_late', 'polls are late', 'nextPollAt', 5 * 60_000],
  ['full_walks_late', 'full walks, which find deletions, are late', 'nextFullAt', 15 * 60_000],
] as const;

/** The scope, the request that met it, its cursor, and numbers: what one origin says differently in each place. */
const OF_ONE_PLACE = /\d+\/[a-z_]+(?:\/\S+)?: |\b[A-Z]{3,7} \/\S*|\((?:after "[^"]*"|from the top)\)|\d+/g;

/** A session that ended, or none that could be made: nothing that it was to write was refused. */
const SESSION_LOST =
  /^(?:\d+ lists could not be read, the last one: )?the database can't (?:be reached: |do it now \((?:08...|57P0.) )/;

/** What happens by itself where no daemon runs, and what mends that. */
const NO_DAEMON = { byItself: 'nothing: no daemon runs', remedy: '"research-mirror start"' } as const;

/**
 * Whether a mirror is healthy: judged by what readers get, not by what runs. A mirror is still healthy just after its
 * daemon has stopped; a dead daemon shows by late polls.
 */
export function judge(facts: Facts, { unready, keys = [], clockBackMs = 0 }: Further = {}): Judgement {
  const { accounts, processes, held, recovery, deletions } = facts;
  const now = Date.parse(facts.at);
  const running = processes.some(({ alive }) => alive);
  const findings: FoundProblem[] = [...keys, ...deletions.flatMap(refusedDeletion)];
  const notes: string[] = [];
  if (recovery?.open === true) {
    findings.push({
      cause: 'database_went_back',
      what: recovery.reason,
      since: recovery.at,
      byItself: 'what it may have lost is read again by full walks, which are due',
      remedy: '"research-mirror sync --full" does it now',
    });
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
      byItself: 'nothing is sent; mirroring goes on',
      remedy:
        'once you know that no other copy of this database sends them: "research-mirror submissions release"',
    });
  }
  if (unready !== undefined) findings.push(unready);
  else if (accounts.length === 0) {
    findings.push({
      cause: 'nothing_mirrored',
      what: 'no account has been mirrored yet',
      ...(running ? { byItself: 'mirroring begins as soon as it is known whose the keys are' } : NO_DAEMON),
    });
  }
  for (const account of accounts.filter(({ state }) => state !== 'retired')) {
    const asked = account.collections.filter((each) => each.state !== 'paused');
    notes.push(...pausedIn(account, asked));
    // Nobody is asked to mirror it: its state is no problem.
    if (asked.length === 0 && account.collections.length > 0) continue;
    if (account.state === 'stopped') findings.push(stoppedAccount(account, running));
    findings.push(...asked.flatMap((each) => wrongIn(account, each, { now, running, unready })));
    findings.push(...webhookProblem(account));
    notes.push(...asked.flatMap((each) => imperfectIn(account, each)), ...notesOn(account));
  }
  if (!running && accounts.length > 0) notes.push('no daemon runs: the mirror stays as it is');
  if (clockBackMs >= 60_000) {
    notes.push(`${wordsOfStep(-clockBackMs)}: it is behind what it showed to a daemon before`);
  }
  const problems = groupProblems(oneServiceDown(findings));
  return { healthy: problems.length === 0, problems, notes };
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
    const [{ cause, what, byItself, remedy = null }] = group as [FoundProblem, ...FoundProblem[]];
    const affects = [...new Set(group.flatMap(({ where }) => where ?? []))];
    const [since = null] = group.flatMap((each) => each.since ?? []).toSorted();
    return { cause, what, since, affects, byItself, remedy };
  });
  const place = ({ cause }: Problem): number => PROBLEM_CAUSES.indexOf(cause);
  return problems.toSorted((a, b) => place(a) - place(b));
}

/** What is the same wherever the same origin is met. */
export function withoutPlace(why: string): string {
  return why.replaceAll(OF_ONE_PLACE, '');
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

/** Deletions that the brake blocks. */
export function blockedDeletions(
  userId: string,
  {
    collection,
    heldDeletions,
    liveRows,
  }: Pick<CollectionStatus, 'collection' | 'heldDeletions' | 'liveRows'>,
): FoundProblem {
  return {
    cause: 'deletions_blocked',
    what: `the brake blocks deletions of ${collection}: so many at once look like a fault of the service`,
    where: `${userId}/${collection} (${formatCount(heldDeletions)} of ${countOf(liveRows, 'row')})`,
    byItself: 'they are deleted as soon as fewer are missing, or the share falls within a day',
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
    byItself: 'they are tried again with each full walk',
    remedy:
      'take away what refuses them (a constraint, a column that may not be null, a trigger); then "research-mirror sync --full"',
  };
}

/** One cause, whoever met it: what was asked before all requests were stopped failed by the same reason. */
function oneServiceDown(findings: readonly FoundProblem[]): readonly FoundProblem[] {
  const down = findings.find(({ cause }) => cause === 'service_down');
  if (down === undefined) return findings;
  const reason = withoutPlace(down.what.slice(SERVICE_DOWN.length));
  const { cause, what, origin = what, byItself, remedy } = down;
  return findings.map((each) =>
    each.cause === cause || (each.cause === 'collection_failing' && withoutPlace(each.what).includes(reason))
      ? { ...each, cause, what, origin, byItself, remedy }
      : each,
  );
}

function stoppedAccount({ userId, error }: AccountStatus, running: boolean): FoundProblem {
  const why = error ?? 'no reason is known';
  const stays = 'its data stay as they are';
  const known = { where: userId, origin: withoutPlace(why) };
  // What happened to a key says itself what to do.
  if (why.includes('research-mirror accounts')) {
    return {
      ...known,
      cause: 'account_moved',
      what: `account has stopped: ${why}`,
      byItself: `nothing: ${stays}`,
    };
  }
  const asked =
    'its keys are asked again, at the latest after 15 minutes, and it goes on as soon as one is good';
  return {
    ...known,
    cause: 'account_stopped',
    what: `account has stopped: each of its keys is refused: ${why}`,
    byItself: `${running ? asked : NO_DAEMON.byItself}; ${stays}`,
    remedy: 'set a good key in MIRROR_API_KEY, and start again',
  };
}

function wrongIn(
  { userId, state }: AccountStatus,
  each: CollectionStatus,
  { now, running, unready }: Pick<Further, 'unready'> & { readonly now: number; readonly running: boolean },
): FoundProblem[] {
  const where = `${userId}/${each.collection}`;
  const found: FoundProblem[] = [];
  // Nothing of a stopped account is read: neither failing nor overdue collections are tried again, as they promise.
  if (each.state === 'failing' && state !== 'stopped') found.push(failure(where, each));
  if (each.heldDeletions > 0) found.push(blockedDeletions(userId, each));
  if (each.staleRows > 0) found.push(staleRows(userId, each));
  // While nothing can be written, nothing is read: that it is late is no further problem.
  if (each.state !== 'overdue' || state === 'stopped' || unready !== undefined) return found;
  for (const [cause, what, field, boundMs] of LATE) {
    const since = each[field];
    if (since === null || now - Date.parse(since) <= boundMs) continue;
    const soon = { byItself: 'they are made up as soon as the daemon comes to it' };
    found.push({ cause, what, since, where, ...(running ? soon : NO_DAEMON) });
  }
  // Nothing is late by a clock that went back: all next runs lie ahead of it.
  if (each.polledAt !== null && Date.parse(each.polledAt) > now) {
    const what = 'nothing was read since the database’s clock went back';
    const soon = { byItself: 'the daemon opens the account again within seconds' };
    found.push({ cause: 'polls_late', what, where, ...(running ? soon : NO_DAEMON) });
  }
  return found;
}

function failure(where: string, { lastError, failingSince: since }: CollectionStatus): FoundProblem {
  const said = lastError ?? 'unknown';
  const refused = refusalIn(said);
  if (isOfDatabase(said)) return { ...unreadyDatabase(refused?.why ?? said), since, where };
  const again = 'it is tried again, at the latest after 5 minutes';
  if (refused !== undefined) {
    return {
      cause: 'database_refuses',
      what: `can’t be written: ${refused.why}`,
      since,
      where,
      origin: withoutPlace(refused.why),
      byItself: again,
      remedy: 'take away what refuses it: "research-mirror doctor" names triggers, rules and their like',
    };
  }
  const remedy = '"research-mirror doctor" finds out why';
  const down = said.indexOf(SERVICE_DOWN);
  if (down === -1) {
    const origin = withoutPlace(said);
    return {
      cause: 'collection_failing',
      what: `can’t be read: ${said}`,
      since,
      where,
      origin,
      byItself: again,
      remedy,
    };
  }
  // One list's error is quoted with how many of them failed.
  const what = said.slice(down);
  const byItself = 'one request at a time tries it; mirroring goes on as soon as it answers';
  return { cause: 'service_down', what, since, where, origin: withoutPlace(what), byItself, remedy };
}

function refusedDeletion(waiting: WaitingDeletion): FoundProblem[] {
  const { cause, userId, collection, rows, examples, what, since, byItself, remedy } = waiting;
  if (cause !== 'refused') return [];
  const keys = `${examples.join(', ')}${rows > examples.length ? ', …' : ''}`;
  const where = `${userId}/${collection} (${countOf(rows, 'row')}: ${keys})`;
  return [{ cause: 'deletions_refused', what, since, where, byItself, remedy }];
}

/** The registration's own message, where it has one, names the remedy. */
function webhookProblem({ userId, webhook: { state, error } }: AccountStatus): FoundProblem[] {
  const said = error === null ? undefined : `webhook: ${error}`;
  const known = { where: userId, byItself: 'only polls find changes' };
  if (saysAstray(error)) {
    const byItself = 'it is tried again each minute; polls find changes';
    return [{ ...known, cause: 'webhook_astray', what: said ?? '', byItself }];
  }
  if (state === 'suspect') {
    const what = 'webhook: deliveries come with signatures that do not fit its secret';
    const byItself = `${known.byItself}; it is registered again, at most hourly`;
    const remedy = 'does the service sign as MIRROR_WEBHOOK_SCHEME and MIRROR_WEBHOOK_HEADER say?';
    return [
      {
        ...known,
        cause: 'webhook_refused',
        byItself,
        ...(said === undefined ? { what, remedy } : { what: said }),
      },
    ];
  }
  if (state !== 'stopped') return [];
  const what = 'webhook: another program takes its place again and again';
  const remedy = 'stop that program, or unset MIRROR_PUBLIC_URL, and start again';
  return [
    { ...known, cause: 'webhook_displaced', ...(said === undefined ? { what, remedy } : { what: said }) },
  ];
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

function imperfectIn({ userId }: AccountStatus, each: CollectionStatus): string[] {
  const { collection, quarantinedItems, fieldConflicts } = each;
  const where = `${userId}/${collection}`;
  const notes: string[] = [];
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
  return notes;
}

/** On events in and operations out. */
function notesOn({ userId, webhook, submissions }: AccountStatus): string[] {
  const { state, host, error, renewedSince } = webhook;
  const of = `webhook of account ${userId}`;
  const notes: string[] = [];
  if (renewedSince !== null) {
    notes.push(
      `${of}: it was removed or changed at the service (noticed ${renewedSince}), and is registered again`,
    );
  }
  const other = `another one is registered${host === null ? '' : ` at ${host}`}, so that events do not come here; MIRROR_WEBHOOK_TAKEOVER=always replaces it`;
  if (state === 'foreign') notes.push(`${of}: ${error ?? other}`);
  else if (error !== null && state !== 'suspect' && state !== 'stopped' && !saysAstray(error)) {
    notes.push(`${of}: ${error}`);
  }
  if (submissions.unknown > 0) {
    notes.push(
      `${countOf(submissions.unknown, 'submission')} of account ${userId} ended with an unknown outcome in the last 24 h, and ` +
        `${submissions.unknown === 1 ? 'is' : 'are'} never sent again: "research-mirror submissions list --state unknown"`,
    );
  }
  return notes;
}
