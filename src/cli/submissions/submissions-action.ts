import { SUBMISSIONS_ACTIONS, USUAL_LIMITS } from '../steps/action-names.ts';
import type { Db } from '../../db/connection/db.ts';
import { cancelSubmission, SubmitRefused } from '../../app/submit/submit-request.ts';
import { daemonLives } from '../../app/process/daemon-lives.ts';
import { loadConfig } from '../../config/load.ts';
import { currentHold, releaseSubmissions } from '../../db/installation/hold.ts';
import { ownIdentity } from '../../db/ownership/process-identity.ts';
import {
  findSubmission,
  listSubmissions,
  type StoredSubmission,
} from '../../db/submissions/stored-submissions.ts';
import { wake } from '../../db/notify/wakeups.ts';
import { SUBMISSION_STATES, type SubmissionState } from '../../model/submission.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { chooseAction, readLimit, refuseFilters, refuseOptions } from '../steps/choose-action.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { onMigratedMirror } from '../steps/migrated-mirror.ts';
import { printNewest, type Row } from '../steps/print-list.ts';
import type { Shell } from '../terminal/shell.ts';
import { endLine, responseText, submissionJson } from './submit-text.ts';
import { suggestion } from '../../config/suggestion.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { minute } from '../terminal/text-table.ts';

interface Options {
  readonly state?: string;
  readonly limit?: string;
  readonly show?: string;
  readonly json?: boolean;
  readonly demo?: boolean;
}

/** What `submissions` does. */
export async function submissionsAction(
  shell: Shell,
  given: string,
  ids: string[],
  options: Options,
): Promise<ExitCode> {
  const action = chooseAction('submissions', given, SUBMISSIONS_ACTIONS);
  if (action !== 'cancel' && ids.length > 0) throw new UsageError(`submissions ${action} takes no IDs`);
  if (action !== 'list') refuseOptions(`submissions ${action}`, options, ['state', 'limit', 'show']);
  refuseFilters(options, ['state', 'limit']);
  if (action === 'cancel' && ids.length === 0) throw new UsageError('submissions cancel: which ones?');
  const wrong = [...ids, ...(options.show === undefined ? [] : [options.show])].find((id) => !isId(id));
  if (wrong !== undefined)
    throw new UsageError(`${JSON.stringify(wrong)} is no ID of a submission: a number`);
  const state = readState(options.state);
  const limit = readLimit(options.limit, USUAL_LIMITS.submissions);
  const config = loadConfig(shell.env, 'database');
  const which = options.demo === true ? 'demo' : 'likely';
  const { json = false, show } = options;
  return onMigratedMirror(shell, config, { command: 'submissions', which }, async ({ db }) => {
    if (action === 'cancel') return cancel(shell, db, ids, json);
    if (action === 'release') return release(shell, db, json);
    if (show !== undefined) return showOne(shell, db, show, json);
    return printNewest(shell, {
      limit,
      find: (most) => listSubmissions(db, { limit: most, ...(state === undefined ? {} : { state }) }),
      json,
      toJson: (each) => submissionJson(each),
      toRow,
      noun: 'submission',
      none: state === undefined ? 'there are no submissions' : `no submission is ${state}`,
      shows: 'an answer',
    });
  });
}

/** A bigint's digits, without going beyond it. */
function isId(text: string): boolean {
  return /^\d{1,18}$/.test(text);
}

function readState(text: string | undefined): SubmissionState | undefined {
  if (text === undefined) return undefined;
  const state = SUBMISSION_STATES.find((name) => name === text);
  if (state !== undefined) return state;
  const near = suggestion(text, SUBMISSION_STATES);
  throw new UsageError(
    `--state: there is no ${JSON.stringify(text)}${near}: there are ${SUBMISSION_STATES.join(', ')}`,
  );
}

async function showOne(shell: Shell, db: Db, id: string, json: boolean): Promise<ExitCode> {
  const submission = await findSubmission(db, id);
  if (submission === undefined) {
    shell.err.write(`research-mirror: there is no submission ${id}\n`);
    return EXIT.NO;
  }
  const text = json ? submissionJson(submission) : responseText(submission);
  if (text !== undefined) shell.out.write(shell.scrubber.scrub(`${text}\n`));
  shell.err.write(shell.scrubber.scrub(`${endLine(submission, (await currentHold(db))?.why)}\n`));
  return EXIT.DONE;
}

async function cancel(shell: Shell, db: Db, ids: readonly string[], json: boolean): Promise<ExitCode> {
  const cancelled: string[] = [];
  const refused: { readonly id: string; readonly why: string }[] = [];
  for (const id of new Set(ids)) {
    try {
      await cancelSubmission(db, id);
      cancelled.push(id);
      if (!json) shell.out.write(`submission ${id}: cancelled\n`);
    } catch (error) {
      if (!(error instanceof SubmitRefused)) throw error;
      refused.push({ id, why: error.message });
      shell.err.write(`research-mirror: ${error.message}\n`);
    }
  }
  if (json) shell.out.write(`${JSON.stringify({ cancelled, refused })}\n`);
  return refused.length > 0 ? EXIT.NO : EXIT.DONE;
}

async function release(shell: Shell, db: Db, json: boolean): Promise<ExitCode> {
  const hold = await currentHold(db);
  const released = hold === undefined ? 0 : await releaseSubmissions(db);
  await wake(db);
  const lives = await daemonLives(db, await ownIdentity());
  if (json) {
    const held = hold === undefined ? null : { since: hold.since.toISOString(), why: hold.why };
    shell.out.write(`${JSON.stringify({ released, held })}\n`);
  } else if (hold === undefined) {
    shell.out.write('nothing is held\n');
  } else {
    shell.out.write(
      shell.scrubber.scrub(
        `released: ${countOf(released, 'submission')} (held since ${hold.since.toISOString()}: ${hold.why})\n`,
      ),
    );
  }
  if (hold !== undefined && !lives) {
    shell.err.write('no daemon runs: start it within ten minutes, or what is queued is held again\n');
  }
  return EXIT.DONE;
}

function toRow(each: StoredSubmission): Row {
  return {
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
  };
}
