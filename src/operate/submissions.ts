/** `submissions`: lists, cancels and releases queued POST operations; the words for them. */

import { Unusable } from '@research-mirror/runtime/errors';
import { countOf } from '@research-mirror/runtime/figures';
import { messageOf } from '@research-mirror/runtime/message';
import { isStopped, untilAborted } from '@research-mirror/runtime/service';
import { createReadStream } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { loadConfig } from '../config/load.ts';
import { OPERATION_NAMES, SUBMISSION_STATES, TARGETED_OPERATIONS } from '../model/submission.ts';
import type { Db } from '../postgres/db.ts';
import { ownIdentity } from '../postgres/heartbeat.ts';
import { currentHold, releaseSubmissions } from '../postgres/hold.ts';
import { daemonLives } from '../postgres/lease.ts';
import { wake } from '../postgres/notifications.ts';
import { operatorOn } from '../postgres/operator-log.ts';
import { findSubmission, listSubmissions, type StoredSubmission } from '../submissions/stored-submissions.ts';
import { chooseFrom, readLimit, readUserId, refuseFilters, USUAL_LIMITS } from '../terminal/given.ts';
import { onMirror, workOptions } from '../terminal/open-mirror.ts';
import { Progress } from '../terminal/progress.ts';
import { complain, EXIT, type Options, say, type Shell, UsageError } from '../terminal/shell.ts';
import { minute, printable, printNewest } from '../terminal/text-table.ts';
import {
  cancelSubmission,
  currentOutcome,
  followOperation,
  isFinal,
  queueOperation,
  SubmitRefused,
} from './submit-operation.ts';

/** In bytes. More than the database's limit (1 MiB), so that the database's message is shown. */
const MOST_DATA_BYTES = 4 * 1024 * 1024;

/** @param given the text itself, `@file`, or `-` for standard input @throws UsageError; the signal's reason */
async function readData(given: string, signal: AbortSignal): Promise<string> {
  if (given !== '-' && !given.startsWith('@')) return given;
  const source = given === '-' ? 'standard input' : given.slice(1);
  const from = given === '-' ? { fd: 0, autoClose: false } : {};
  try {
    const reading = buffer(createReadStream(source, { ...from, end: MOST_DATA_BYTES }));
    // Reading from an idle terminal never ends, so an interrupt must not wait for it.
    const bytes = await Promise.race([reading, untilAborted(signal)]);
    signal.throwIfAborted();
    if (bytes === undefined || bytes.length > MOST_DATA_BYTES) throw new RangeError('it is larger than 4 MiB');
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    signal.throwIfAborted();
    throw new UsageError(`--data: can't read ${source}: ${messageOf(error)}`);
  }
}

export async function submitAction(
  shell: Shell,
  operation: string,
  options: Options<'noWait' | 'json' | 'demo', 'id' | 'user' | 'data' | 'key'>,
) {
  const { id: target, user, data, key, noWait = false, json = false, demo = false } = options;
  chooseFrom(OPERATION_NAMES, operation, 'unknown operation');
  if (data === undefined && !TARGETED_OPERATIONS.includes(operation)) {
    throw new UsageError(
      `${operation} needs --data: the payload is its only target, and an empty one may still cost credits. To send an empty one on purpose: --data '{}'`,
    );
  }
  if (user !== undefined) readUserId(user, '--user: ');
  const payload = checkPayload(await readData(data ?? '{}', shell.signal));
  const request = { operation, payload, target, userId: user, idempotencyKey: key };
  const given = loadConfig(shell.env, 'database');
  if (!given.submit.enabled) throw new Unusable('submissions are off: MIRROR_SUBMIT=off');
  // A configured account's mirror is meant, whatever else runs.
  const which = demo ? 'demo' : given.service === undefined ? 'likely' : 'own';
  const config = demo ? { ...given, service: undefined } : given;
  return onMirror(shell, 'submit', { which, config }, async ({ db, direct }) => {
    const tell = (text: string): unknown => shell.err.write(shell.scrubber.scrub(`${text}\n`));
    const progress = new Progress(shell);
    const onProgress = (each: StoredSubmission): void => progress.show(shell.scrubber.scrub(submittingLine(each)));
    const work = { ...workOptions(shell, config), config, db, direct, onProgress };
    const id = await queueOperation(work, request).catch(async (error: unknown) => {
      if (!(error instanceof SubmitRefused && error.wrong)) throw error;
      // Without any account no request can be right.
      if ((await db.state.selectFrom('account').select('_user_id').limit(1).execute()).length === 0) {
        throw new Unusable(
          'no account is mirrored yet, so nothing can be submitted. Run "research-mirror start" or "research-mirror sync" first',
        );
      }
      throw new UsageError(error.message);
    });
    let outcome: Awaited<ReturnType<typeof followOperation>>;
    try {
      await wake(db);
      outcome = await (noWait ? currentOutcome(db, id) : followOperation(work, id));
    } catch (error) {
      progress.end();
      tell(await whereItStays(db, id));
      if (isStopped(error)) return EXIT.INTERRUPTED;
      throw error;
    } finally {
      progress.end();
    }
    const { submission, stuck } = outcome;
    const held = submission.state === 'held' ? (await currentHold(db))?.why : undefined;
    const text = json ? submissionJson(submission, { stuck: stuck ?? null }) : responseText(submission);
    if (text !== undefined) say(shell, text);
    tell(stuck === undefined ? endLine(submission, held) : `submission ${submission.id} stays queued: ${stuck}`);
    if (noWait || submission.state === 'accepted') return EXIT.DONE;
    if (submission.state === 'rejected' || submission.state === 'cancelled') return EXIT.NO;
    return submission.state === 'unknown' ? EXIT.UNKNOWN : EXIT.FAILED;
  });
}

/** The state of a submission that is no longer waited for. */
async function whereItStays(db: Db, id: string): Promise<string> {
  const submission = await findSubmission(db, id).catch(() => undefined);
  const look = `"research-mirror submissions list --show ${id}" shows its outcome`;
  if (submission?.state === 'queued')
    return `submission ${id} stays queued. "research-mirror submissions cancel ${id}" cancels it`;
  return submission === undefined || !isFinal(submission)
    ? `submission ${id} may be on its way. ${look}`
    : endLine(submission, undefined);
}

/** Checks for a JSON object without duplicate fields, of which Postgres keeps the last. @throws UsageError */
export function checkPayload(text: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--data is not JSON: ${messageOf(error)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError("--data must be a JSON object, such as '{}'");
  const twice = repeatedField(text);
  if (twice !== undefined) throw new UsageError(`--data: an object has the field ${JSON.stringify(twice)} twice`);
  return text;
}

/** The first duplicate field name in an object of the text. @param text valid JSON */
export function repeatedField(text: string): string | undefined {
  const objects: Set<string>[] = [];
  for (const [token, name] of text.matchAll(/"((?:[^"\\]|\\.)*)"\s*:|"(?:[^"\\]|\\.)*"|[{}]/gs)) {
    if (token === '{') objects.push(new Set());
    else if (token === '}') objects.pop();
    else if (name !== undefined) {
      const field = JSON.parse(`"${name}"`) as string;
      const names = objects.at(-1);
      if (names?.has(field) === true) return field;
      names?.add(field);
    }
  }
  return undefined;
}

export function submittingLine({ id, state, error }: StoredSubmission): string {
  if (state === 'sending') return `submission ${id}: being sent`;
  // The error of a queued submission says what it waits for, unless that is its turn.
  return `submission ${id}: queued${error === null ? '' : `; ${printable(error)}`}`;
}

/** How a submission ended, in one line. @param held why it is on hold, if it is */
export function endLine(submission: StoredSubmission, held: string | undefined): string {
  const { id, state, responseStatus, error, conclusiveAt } = submission;
  const what = `submission ${id}`;
  const answer = responseStatus === null ? '' : ` (${responseStatus})`;
  const why = error === null ? '' : `: ${printable(error)}`;
  switch (state) {
    case 'accepted':
      return `${what}: accepted${answer}`;
    case 'rejected':
      return `${what}: rejected${answer}${why}`;
    case 'unknown': {
      const from = conclusiveAt === null ? '' : `; the service's lists show it from ${minute(conclusiveAt)} UTC on`;
      return `${what}: outcome unknown${answer}${why}. It may have taken effect${from}. Never retry it`;
    }
    case 'cancelled':
      return `${what}: cancelled`;
    case 'held':
      return `${what}: on hold: ${held ?? 'the database was restored or copied'}. "research-mirror submissions release" sends it`;
    case 'queued':
    case 'sending':
      return `${what}: ${state}`;
  }
}

/** The answer's body as the service sent it. */
export function responseText({ response }: StoredSubmission): string | undefined {
  if (response === null) return undefined;
  // A body that is not JSON is stored as a JSON string.
  return response.startsWith('"') ? (JSON.parse(response) as string) : response;
}

/** A JSON object in which the response keeps its text, with every digit. */
export function submissionJson({ response, ...rest }: StoredSubmission, more: object = {}): string {
  const text = JSON.stringify({ ...rest, ...more });
  return `${text.slice(0, -1)},"response":${response ?? 'null'}}`;
}

export async function submissionsAction(
  shell: Shell,
  action: string,
  ids: string[],
  options: Options<'json' | 'demo', 'state' | 'limit' | 'show'>,
) {
  const { json = false, demo, show } = options;
  if (action !== 'cancel' && ids.length > 0) throw new UsageError(`submissions ${action} takes no IDs`);
  refuseFilters(options, ['state', 'limit']);
  if (action === 'cancel' && ids.length === 0)
    throw new UsageError('submissions cancel needs IDs. "submissions list" shows them');
  // Up to 18 digits are a bigint.
  const wrong = [...ids, ...(show === undefined ? [] : [show])].find((id) => !/^\d{1,18}$/.test(id));
  if (wrong !== undefined) throw new UsageError(`${JSON.stringify(wrong)} is not a submission ID. IDs are numbers`);
  const { state: given } = options;
  const state = given === undefined ? undefined : chooseFrom(SUBMISSION_STATES, given, '--state: unknown state');
  const limit = readLimit(options.limit, USUAL_LIMITS.submissions);
  return onMirror(shell, 'submissions', { demo }, async ({ db }) => {
    if (action === 'cancel') return cancel(shell, db, ids, json);
    if (action === 'release') return release(shell, db, json);
    if (show !== undefined) {
      const submission = await findSubmission(db, show);
      if (submission === undefined) {
        complain(shell, `there is no submission ${show}`);
        return EXIT.NO;
      }
      const text = json ? submissionJson(submission) : responseText(submission);
      if (text !== undefined) say(shell, text);
      shell.err.write(shell.scrubber.scrub(`${endLine(submission, (await currentHold(db))?.why)}\n`));
      return EXIT.DONE;
    }
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
      ? 'nothing is on hold'
      : `released ${countOf(released, 'submission')} (on hold since ${since}: ${hold.why})`;
  say(shell, json ? JSON.stringify({ released, held: hold ? { since, why: hold.why } : null }) : told);
  if (hold !== undefined && !lives)
    shell.err.write('no daemon runs. Start one within ten minutes, or the queue is put on hold again\n');
  return EXIT.DONE;
}
