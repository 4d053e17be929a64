import { countOf } from '@research-mirror/runtime/figures';
import { SUBMISSION_STATES } from '../model/submission.ts';
import type { Db } from '../postgres/db.ts';
import { ownIdentity } from '../postgres/heartbeat.ts';
import { currentHold, releaseSubmissions } from '../postgres/hold.ts';
import { daemonLives } from '../postgres/lease.ts';
import { wake } from '../postgres/notifications.ts';
import { operatorOn } from '../postgres/operator-log.ts';
import { findSubmission, listSubmissions, type StoredSubmission } from '../submissions/stored-submissions.ts';
import { chooseFrom, readLimit, refuseFilters, USUAL_LIMITS } from '../terminal/given.ts';
import { onMirror } from '../terminal/open-mirror.ts';
import { complain, EXIT, type Options, say, type Shell, UsageError } from '../terminal/shell.ts';
import { minute, printNewest } from '../terminal/text-table.ts';
import { cancelSubmission, SubmitRefused } from './submit-operation.ts';
import { endLine, responseText, submissionJson } from './submit.ts';

export async function submissionsAction(
  shell: Shell,
  action: string,
  ids: string[],
  options: Options<'json' | 'demo', 'state' | 'limit' | 'show'>,
) {
  const { json = false, demo, show } = options;
  if (action !== 'cancel' && ids.length > 0) throw new UsageError(`submissions ${action} takes no IDs`);
  refuseFilters(options, ['state', 'limit']);
  if (action === 'cancel' && ids.length === 0) throw new UsageError('submissions cancel: which ones?');
  // Up to 18 digits are a bigint.
  const wrong = [...ids, ...(show === undefined ? [] : [show])].find((id) => !/^\d{1,18}$/.test(id));
  if (wrong !== undefined)
    throw new UsageError(`${JSON.stringify(wrong)} is no ID of a submission: a number`);
  const { state: given } = options;
  const state =
    given === undefined ? undefined : chooseFrom(SUBMISSION_STATES, given, '--state: there is no');
  const limit = readLimit(options.limit, USUAL_LIMITS.submissions);
  return onMirror(shell, 'submissions', { demo }, async ({ db }) => {
    if (action === 'cancel') return cancel(shell, db, ids, json);
    if (action === 'release') return release(shell, db, json);
    if (show !== undefined) return showOne(shell, db, show, json);
    const found = await listSubmissions(db, { limit: limit + 1, ...(state !== undefined && { state }) });
    const none = state === undefined ? 'there are no submissions' : `no submission is ${state}`;
    const toRow = (each: StoredSubmission) => ({
      id: each.id,
      account: each.userId,
      operation: each.operation,
      target: each.targetId,
      state: each.state,
      status: each.responseStatus === null ? '' : String(each.responseStatus),
      'queued (UTC)': minute(each.createdAt),
      ended: each.doneAt && minute(each.doneAt),
      key: each.idempotencyKey,
      why: each.error,
    });
    const toJson = json ? (each: StoredSubmission): string => submissionJson(each) : undefined;
    return printNewest(shell, found, { limit, noun: 'submission', none, shows: 'an answer', toRow, toJson });
  });
}

async function showOne(shell: Shell, db: Db, id: string, json: boolean) {
  const submission = await findSubmission(db, id);
  if (submission === undefined) {
    complain(shell, `there is no submission ${id}`);
    return EXIT.NO;
  }
  const text = json ? submissionJson(submission) : responseText(submission);
  if (text !== undefined) say(shell, text);
  shell.err.write(shell.scrubber.scrub(`${endLine(submission, (await currentHold(db))?.why)}\n`));
  return EXIT.DONE;
}

async function cancel(shell: Shell, db: Db, ids: readonly string[], json: boolean) {
  const by = await operatorOn(db);
  const cancelled: string[] = [];
  const refused: { readonly id: string; readonly why: string }[] = [];
  for (const id of new Set(ids)) {
    try {
      await cancelSubmission(db, id, by);
      cancelled.push(id);
      if (!json) say(shell, `submission ${id}: cancelled`);
    } catch (error) {
      if (!(error instanceof SubmitRefused)) throw error;
      refused.push({ id, why: error.message });
      complain(shell, error.message);
    }
  }
  if (json) say(shell, JSON.stringify({ cancelled, refused }));
  return refused.length > 0 ? EXIT.NO : EXIT.DONE;
}

async function release(shell: Shell, db: Db, json: boolean) {
  const hold = await currentHold(db);
  const released = hold === undefined ? 0 : await releaseSubmissions(db, await operatorOn(db));
  await wake(db);
  const lives = await daemonLives(db, await ownIdentity());
  const since = hold?.since.toISOString();
  const told =
    hold === undefined
      ? 'nothing is held'
      : `released: ${countOf(released, 'submission')} (held since ${since}: ${hold.why})`;
  say(shell, json ? JSON.stringify({ released, held: hold ? { since, why: hold.why } : null }) : told);
  if (hold !== undefined && !lives) {
    shell.err.write('no daemon runs: start it within ten minutes, or what is queued is held again\n');
  }
  return EXIT.DONE;
}
