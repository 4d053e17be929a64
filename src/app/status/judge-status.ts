import type {
  AccountStatus,
  CollectionStatus,
  HoldStatus,
  ProcessStatus,
  RecoveryStatus,
} from '../../model/status-report.ts';
import { countOf, formatCount, formatSpan } from '@research-mirror/runtime/figures';
import { type HealthJudgement, judgeWebhookAndSubmissions } from './judge-webhook-and-submissions.ts';

/** How late (ms) an overdue poll or full walk is a problem; the view freshness says what is overdue. */
const LATE_POLL = 5 * 60_000;
const LATE_FULL = 15 * 60_000;

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
  const remedy = running ? '' : ': no daemon runs, "research-mirror start"';
  const problems: string[] = [];
  const notes: string[] = [];
  if (accounts.length === 0) problems.push(`no account has been mirrored yet${remedy}`);
  for (const account of accounts) {
    const { userId, state, error } = account;
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
    if (stopped) problems.push(`account ${userId} has stopped: ${error ?? 'no reason is known'}`);
    // What stopped the account is said once: neither failing nor overdue collections repeat it.
    const said = stopped ? error : null;
    const failing = collections.filter(
      (each) => each.state === 'failing' && (said === null || each.lastError !== said),
    );
    const overdue = stopped ? [] : collections.filter((each) => each.state === 'overdue');
    const look = { overdue, now, remedy };
    const fullWalks = `full walks of account ${userId}, which find deletions, are`;
    problems.push(
      ...failing.map((each) => `${userId}/${each.collection} fails: ${each.lastError ?? 'unknown'}`),
      ...collections.flatMap((each) => blockedProblems(userId, each)),
      ...lateOnes(`polls of account ${userId} are`, 'nextPollAt', LATE_POLL, look),
      ...lateOnes(fullWalks, 'nextFullAt', LATE_FULL, look),
    );
    for (const each of collections) notes.push(...notesOn(userId, each));
  }
  const further = judgeWebhookAndSubmissions(accounts.filter(isAssigned), held, running);
  problems.push(...further.problems);
  notes.push(...further.notes);
  if (!running && accounts.length > 0) notes.push('no daemon runs: the mirror stays as it is');
  return { problems, notes };
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

/** Which deletions the brake blocks, and how to lift it; [] where it blocks none. */
export function blockedProblems(
  userId: string,
  {
    collection,
    heldDeletions,
    liveRows,
  }: Pick<CollectionStatus, 'collection' | 'heldDeletions' | 'liveRows'>,
): string[] {
  if (heldDeletions === 0) return [];
  const share = `${formatCount(heldDeletions)} of ${countOf(liveRows, 'row')}`;
  const remedy = `research-mirror sync ${collection} --full --accept-deletions`;
  return [
    `${userId}/${collection}: the brake holds ${share} back from deletion; if they are gone on purpose: ${remedy}`,
  ];
}

interface LateLook {
  readonly overdue: readonly CollectionStatus[];
  readonly now: Date;
  readonly remedy: string;
}

/** @param subject the beginning of the sentence @param boundMs how late is too late */
function lateOnes(
  subject: string,
  which: 'nextPollAt' | 'nextFullAt',
  boundMs: number,
  { overdue, now, remedy }: LateLook,
): string[] {
  const late = overdue
    .map((each) => ({
      name: each.collection,
      ms: now.getTime() - Date.parse(each[which] ?? now.toISOString()),
    }))
    .filter(({ ms }) => ms > boundMs);
  if (late.length === 0) return [];
  const most = formatSpan(Math.max(...late.map(({ ms }) => ms)));
  return [`${subject} up to ${most} late (${late.map(({ name }) => name).join(', ')})${remedy}`];
}

function notesOn(userId: string, each: CollectionStatus): string[] {
  const where = `${userId}/${each.collection}`;
  const notes: string[] = [];
  if (each.quarantinedItems > 0) {
    notes.push(
      `${where}: ${formatCount(each.quarantinedItems)} items could not be mirrored (table quarantine)`,
    );
  }
  if (each.fieldConflicts > 0) {
    notes.push(
      `${where}: ${formatCount(each.fieldConflicts)} values did not fit their column (view columns)`,
    );
  }
  const waitingText = (rows: number): string =>
    `${where}: ${countOf(rows, 'row')} in doubt ${rows === 1 ? 'waits' : 'wait'} for`;
  const second = each.waitingDeletions - each.waitingForWalks;
  if (second > 0) notes.push(`${waitingText(second)} a second proof`);
  if (each.waitingForWalks > 0) {
    notes.push(`${waitingText(each.waitingForWalks)} two equal walks: the order of this list is not known`);
  }
  return notes;
}

/** A database that went back is a problem until full walks have read again what it may have lost. */
export function judgeRecovery(recovery: RecoveryStatus | null): HealthJudgement {
  if (recovery === null) return { problems: [], notes: [] };
  const { at, reason, open } = recovery;
  const what = `${at}: ${reason}`;
  if (open) {
    const problem = `${what}; what it may have lost is read again by full walks, which are due: "research-mirror sync --full" does it now`;
    return { problems: [problem], notes: [] };
  }
  const note = `${what}; it was read again since. Consumers of _change_id compare once (docs/recipes.md)`;
  return { problems: [], notes: [note] };
}
