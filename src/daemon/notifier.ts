import type { Clock } from '@research-mirror/runtime/clock';
import { formatSpan } from '@research-mirror/runtime/figures';
import type { Logger } from '@research-mirror/runtime/logger';
import { messageOf } from '@research-mirror/runtime/message';
import { type Service, service } from '@research-mirror/runtime/service';
import { createHmac, randomUUID } from 'node:crypto';
import type { Secret } from '../config/secret.ts';
import { failureMessage } from '../postgres/sql-state.ts';
import { affectedBy, type Problem, problemLine, PROBLEMS, withoutPlace } from '../status/problem.ts';
import type { StatusReport } from '../status/status-report.ts';
import type { NotifyReceiver } from './notify-receiver.ts';
import { type DueMessage, type ProblemStore, STEADY_MS } from './problem-store.ts';

/** How often (ms) it looks, and sends what is due. */
const LOOK_MS = 20_000;
/** Least time (ms) between two messages that the database is away. */
const APART_MS = 600_000;

type UntakenMessage = Omit<DueMessage<BriefProblem>, 'takenAt'>;

export interface NotifierOptions {
  /** @throws where the database can't be reached; undefined: the daemon is starting, and nothing has failed */
  readonly report: () => Promise<Pick<StatusReport, 'problems' | 'at'> | undefined>;
  /** Undefined: the database was not reached yet. */
  readonly store: () => ProblemStore<BriefProblem> | undefined;
  readonly receiver: NotifyReceiver;
  /** As Standard Webhooks writes it: `whsec_` and base64. */
  readonly secret: Secret;
  readonly mirror: MirrorName;
  readonly scrub: (text: string) => string;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn' | 'info' | 'debug'>;
}

/**
 * Tells people of problems: one message when one begins, one when it ends. Problems are rows, which one of all daemons
 * sends; only that the database is away each daemon tells by itself, from memory.
 * @returns what looks once, and sends what is due
 */
export function problemTeller(options: NotifierOptions): (signal: AbortSignal) => Promise<void> {
  const { report, store, receiver, secret, mirror, scrub, clock, log } = options;
  /** Since when all looks showed what they could: only then is something over that they do not find. */
  let clearSince: number | undefined;
  let failing = false;
  let away:
    | { readonly message: UntakenMessage; readonly since: number; tried: boolean; told: boolean }
    | undefined;
  let awayToldAt = -Infinity;

  /** @returns whether it was delivered */
  const post = async (message: UntakenMessage, signal: AbortSignal): Promise<boolean> => {
    const id = `${message.id}-${message.endedAt === null ? 'began' : 'ended'}`;
    const at = new Date(clock.now());
    const body = notificationBody(message, mirror, at.getTime());
    const headers = signedHeaders(id, at, body, secret.reveal());
    try {
      await receiver.post(body, headers, signal);
      if (failing) log.info(`messages reach ${receiver.host} again`);
      failing = false;
      return true;
    } catch (error) {
      signal.throwIfAborted();
      log[failing ? 'debug' : 'warn'](
        `a message to MIRROR_NOTIFY_URL is tried again, at the latest after 5 minutes: ${messageOf(error)}`,
      );
      failing = true;
      return false;
    }
  };

  /** @returns why the database can't be used; undefined: it can, or the daemon is starting */
  const look = async (): Promise<string | undefined> => {
    const seen = await report();
    if (seen === undefined) return undefined;
    const unready = seen.problems.find(({ cause }) => cause === 'database_unready');
    // What fails with the service is no further problem.
    const down = seen.problems.find(({ cause }) => cause === 'service_down');
    const isClear = unready === undefined && down === undefined;
    clearSince = isClear ? (clearSince ?? clock.monotonic()) : undefined;
    if (unready !== undefined) return unready.what;
    const byName = new Map((down ? [down] : seen.problems).map((each) => [nameOf(each), each]));
    const found = [...byName].map(([name, each]) => ({
      id: randomUUID(),
      name,
      problem: briefProblem(each, scrub),
    }));
    await store()?.look(
      new Date(seen.at),
      found,
      clearSince !== undefined && clock.monotonic() - clearSince >= STEADY_MS,
    );
    return undefined;
  };

  const sendRows = async (signal: AbortSignal): Promise<void> => {
    const rows = store();
    if (rows === undefined) return;
    for (let due = await rows.take(); due !== undefined; due = await rows.take()) {
      // A receiver that is away keeps no look waiting.
      if (!(await post(due, signal))) return;
      await rows.delivered(due);
    }
  };

  /** @param why the database can't be used; undefined: it can */
  const tellAway = async (why: string | undefined, signal: AbortSignal): Promise<void> => {
    const now = clock.monotonic();
    if (why !== undefined) {
      const beganAt = new Date(clock.now());
      const problem = briefProblem(unreadyDatabase(why, beganAt), scrub);
      const message = { id: randomUUID(), problem, beganAt, endedAt: null };
      away ??= { message, since: now, tried: false, told: false };
      if (away.told || now - away.since < STEADY_MS || now - awayToldAt < APART_MS) return;
      away.tried = true;
      away.told = await post(away.message, signal);
      if (away.told) awayToldAt = now;
    } else if (away !== undefined) {
      // Also where its begin was not delivered: it may have been, and only the answer was lost.
      const { message, tried } = away;
      if (!tried || (await post({ ...message, endedAt: new Date(clock.now()) }, signal))) away = undefined;
    }
  };

  return async (signal) => {
    let why: string | undefined;
    try {
      why = await look();
      if (why === undefined) await sendRows(signal);
    } catch (error) {
      signal.throwIfAborted();
      why = failureMessage(error);
      clearSince = undefined;
      log.debug(`problems can’t be told now: ${why}`);
    }
    await tellAway(why, signal);
  };
}

export function notifier(options: NotifierOptions): Service {
  const tell = problemTeller(options);
  return service('notifier', async ({ signal, ready }) => {
    ready();
    try {
      for (;;) {
        await options.clock.sleep(LOOK_MS, signal);
        await tell(signal);
      }
    } finally {
      await options.receiver.close();
    }
  });
}

function unreadyDatabase(why: string, since: Date): Problem {
  const [byItself, remedy] = PROBLEMS.database_unready;
  const what = /database/.test(why) ? why : `the database can’t be used: ${why}`;
  return { cause: 'database_unready', what, since: since.toISOString(), affects: [], byItself, remedy };
}

/**
 * What is the same problem in two looks: as `status` groups them, without words that have a digit, which may be other
 * ones each time (IDs of requests). The service is down once, whatever it says of that.
 */
function nameOf({ cause, what }: Problem): string {
  if (cause === 'service_down') return cause;
  return `${cause} ${withoutPlace(what.replaceAll(/\S*\d\S*/g, ''))}`.slice(0, 300);
}

/** Characters of a problem's own words, of a message's text, and places that are named. */
const MOST_WORDS = 1_000;
const MOST_TEXT = 2_000;
const MOST_PLACES = 50;

/** A problem as it is stored and sent: of bounded size. */
export interface BriefProblem extends Problem {
  /** What it affects, in words: also those places that are not named. */
  readonly affected: string;
}

export function briefProblem(problem: Problem, scrub: (text: string) => string): BriefProblem {
  const clean = (text: string): string =>
    scrub(text)
      .replaceAll(/[\p{Cc}\s]+/gu, ' ')
      .slice(0, MOST_WORDS)
      .toWellFormed();
  return {
    ...problem,
    what: clean(problem.what),
    remedy: problem.remedy && clean(problem.remedy),
    affects: problem.affects.slice(0, MOST_PLACES).map(clean),
    affected: affectedBy(problem),
  };
}

/** What a mirror is called where several of them tell of their problems. */
interface MirrorName {
  readonly schema: string;
  /** Address of the service. */
  readonly service: string;
  readonly version: string;
}

/** A message of a problem: its begin, or its end where `endedAt` is given. */
interface Notification {
  readonly problem: BriefProblem;
  readonly beganAt: Date;
  readonly endedAt: Date | null;
}

/**
 * The body: `text` for incoming webhooks of Slack, Mattermost and Google Chat, `content` for Discord's, which ignore the
 * rest; `data` for programs.
 * @param now when it is sent: what is said of time is as of then
 */
export function notificationBody(
  { problem, beganAt, endedAt }: Notification,
  mirror: MirrorName,
  now: number,
): string {
  const { schema, service } = mirror;
  const of = `mirror "${schema}" of ${URL.parse(service)?.host ?? service}`;
  const { affected, ...told } = problem;
  const lastedMs = Math.max(0, (endedAt ?? beganAt).getTime() - beganAt.getTime());
  const text = plain(
    endedAt === null
      ? `Problem, ${of}: ${problemLine({ ...told, affects: affected === '' ? [] : [affected] }, now)}`
      : `Over, ${of}: ${problem.what}; it lasted ${formatSpan(lastedMs)}`,
  );
  const type = endedAt === null ? 'problem.began' : 'problem.ended';
  const timestamp = (endedAt ?? beganAt).toISOString();
  return JSON.stringify({
    type,
    timestamp,
    text,
    content: text,
    data: { ...problem, beganAt, endedAt, ...mirror },
  });
}

/** What chats would take for a mention, a link or a format of theirs: the service's words may be in it. */
function plain(text: string): string {
  const alike: Readonly<Record<string, string>> = { '<': '‹', '>': '›', '@': '＠', '[': '(', ']': ')' };
  return text
    .replaceAll(/[<>@[\]]/g, (each) => alike[each] ?? each)
    .slice(0, MOST_TEXT)
    .toWellFormed();
}

/**
 * Headers of a message by Standard Webhooks 1.0 (https://www.standardwebhooks.com): HMAC-SHA-256 of
 * `<id>.<seconds>.<body>`. Its own library, which has no text of its licence, checks them in the tests.
 * @param secret `whsec_` and the key in base64
 */
function signedHeaders(id: string, at: Date, body: string, secret: string): Record<string, string> {
  const seconds = String(Math.floor(at.getTime() / 1000));
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const mac = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${mac}` };
}
