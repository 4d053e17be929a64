/** Tells people about problems: the log, and signed messages to MIRROR_NOTIFY_URL. */

import type { Clock } from '@research-mirror/runtime/clock';
import { formatSpan } from '@research-mirror/runtime/figures';
import type { Logger } from '@research-mirror/runtime/logger';
import { messageOf } from '@research-mirror/runtime/message';
import { orAborted, type Service, service } from '@research-mirror/runtime/service';
import ipaddr from 'ipaddr.js';
import { createHmac, randomUUID } from 'node:crypto';
import { lookup as lookUp } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { Secret } from '../config/secret.ts';
import { TransportError } from '../model/errors.ts';
import { failureMessage } from '../postgres/sql-state.ts';
import { createDispatcher, networkProblem, type ProxySettings } from '../service/transport.ts';
import { type Problem, type ProblemCause, problemLine, PROBLEMS, withoutPlace } from '../status/problem.ts';
import type { StatusReport } from '../status/status-report.ts';
import { briefProblem, type DueMessage, type ProblemStore, STEADY_MS } from './problem-store.ts';

/** Time between two looks for problems to log, ms. */
const LOG_LOOK_MS = 30_000;

/** Problems that the gate, the account or the heartbeat log at once, at their begin and end. */
const LOGGED_AT_ONCE: ReadonlySet<ProblemCause> = new Set([
  'database_unready',
  'service_down',
  'key_refused',
  'account_moved',
  'account_stopped',
]);

/** Logs each problem of the status report once when it begins, and once when it is over. */
export function problemLog(
  report: () => Promise<Pick<StatusReport, 'problems' | 'at'>>,
  clock: Clock,
  log: Pick<Logger, 'warn' | 'info' | 'debug'>,
): Service {
  return service('problems', async ({ signal, ready }) => {
    ready();
    let known: ReadonlyMap<string, Problem> = new Map();
    for (;;) {
      await clock.sleep(LOG_LOOK_MS, signal);
      try {
        const { problems, at } = await report();
        const logged = problems.filter(({ cause }) => !LOGGED_AT_ONCE.has(cause));
        const found = new Map(logged.map((each) => [`${each.cause} ${withoutPlace(each.what)}`, each]));
        for (const [name, problem] of found) {
          if (!known.has(name)) log.warn(`problem: ${problemLine(problem, Date.parse(at))}`);
        }
        for (const [name, { what }] of known) if (!found.has(name)) log.info(`resolved: ${what}`);
        known = found;
      } catch (error) {
        if (signal.aborted) throw error;
        log.debug(`problems can’t be read now: ${messageOf(error)}`);
      }
    }
  });
}

/** Time between two looks for problems and messages to send, ms. */
const LOOK_MS = 20_000;
/** Least time between two messages that the database is away, ms. */
const APART_MS = 600_000;

type UntakenMessage = Omit<DueMessage, 'takenAt'>;

/**
 * Sends one message when a problem begins and one when it ends. Problems are rows: one of all daemons sends each
 * message. Each daemon tells from its memory that the database is away.
 * @returns a function that looks once and sends what is due
 */
export function problemTeller(options: {
  /** Undefined while the daemon is starting and nothing has failed. @throws if the database can't be reached */
  readonly report: () => Promise<Pick<StatusReport, 'problems' | 'at'> | undefined>;
  /** Undefined until the database is reached. */
  readonly store: () => ProblemStore | undefined;
  readonly receiver: ReturnType<typeof createNotifyReceiver>;
  /** As in Standard Webhooks: `whsec_` and base64. */
  readonly secret: Secret;
  /** Tells several mirrors' messages apart; `service`: its address. */
  readonly mirror: Readonly<Record<'schema' | 'service' | 'version', string>>;
  readonly scrub: (text: string) => string;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn' | 'info' | 'debug'>;
}): (signal: AbortSignal) => Promise<void> {
  const { report, store, receiver, secret, mirror, scrub, clock, log } = options;
  /** Start of the looks that could find every problem: only they show that one is over. */
  let clearSince: number | undefined;
  let failing = false;
  let away: { readonly message: UntakenMessage; readonly since: number; tried: boolean; told: boolean } | undefined;
  let awayToldAt = -Infinity;

  /** @returns whether it was delivered */
  const post = async (message: UntakenMessage, signal: AbortSignal): Promise<boolean> => {
    const id = `${message.id}-${message.endedAt === null ? 'began' : 'ended'}`;
    const at = new Date(clock.now());
    const body = notificationBody(message, mirror, at.getTime());
    try {
      await receiver.post(body, signedHeaders(id, at, body, secret.reveal()), signal);
      if (failing) log.info(`messages reach ${receiver.host} again`);
      failing = false;
      return true;
    } catch (error) {
      signal.throwIfAborted();
      log[failing ? 'debug' : 'warn'](
        `a message to MIRROR_NOTIFY_URL is retried within 5 minutes: ${messageOf(error)}`,
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
    // The service explains whatever else fails with it.
    const down = seen.problems.find(({ cause }) => cause === 'service_down');
    const isClear = unready === undefined && down === undefined;
    clearSince = isClear ? (clearSince ?? clock.monotonic()) : undefined;
    if (unready !== undefined) return unready.what;
    const byName = new Map((down ? [down] : seen.problems).map((each) => [nameOf(each), each]));
    const rowOf = (each: Problem) => ({ id: randomUUID(), problem: briefProblem(each, scrub) });
    const found = [...byName].map(([name, each]) => ({ name, ...rowOf(each) }));
    const mayEnd = clearSince !== undefined && clock.monotonic() - clearSince >= STEADY_MS;
    await store()?.look(new Date(seen.at), found, mayEnd);
    return undefined;
  };

  const sendRows = async (signal: AbortSignal): Promise<void> => {
    const rows = store();
    if (rows === undefined) return;
    for (let due = await rows.take(); due !== undefined; due = await rows.take()) {
      // The next look must not wait for a receiver that is away.
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
      // Even if the first message failed: it may have arrived, and only its answer was lost.
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
      log.debug(`problems can’t be sent now: ${why}`);
    }
    await tellAway(why, signal);
  };
}

export function notifier(options: Parameters<typeof problemTeller>[0]): Service {
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

/** Equal for the same problem in two looks: without words that contain a digit, such as IDs of requests. */
function nameOf({ cause, what }: Problem): string {
  if (cause === 'service_down') return cause;
  return `${cause} ${withoutPlace(what.replaceAll(/\S*\d\S*/g, ''))}`.slice(0, 300);
}

/** Longest text of a message, in characters. */
const MOST_TEXT = 2_000;

/** `text` for Slack, Mattermost and Google Chat, `content` for Discord. @param now of ages in the text, ms */
export function notificationBody(
  { problem, beganAt, endedAt }: Pick<DueMessage, 'problem' | 'beganAt' | 'endedAt'>,
  mirror: Parameters<typeof problemTeller>[0]['mirror'],
  now: number,
): string {
  const { schema, service } = mirror;
  const of = `mirror "${schema}" of ${URL.parse(service)?.host ?? service}`;
  const { affected, ...told } = problem;
  const lastedMs = Math.max(0, (endedAt ?? beganAt).getTime() - beganAt.getTime());
  const text = plain(
    endedAt === null
      ? `Problem, ${of}: ${problemLine({ ...told, affects: affected === '' ? [] : [affected] }, now)}`
      : `Resolved, ${of}: ${problem.what}; it lasted ${formatSpan(lastedMs)}`,
  );
  const type = endedAt === null ? 'problem.began' : 'problem.ended';
  const timestamp = (endedAt ?? beganAt).toISOString();
  const data = { ...problem, beganAt, endedAt, ...mirror };
  return JSON.stringify({ type, timestamp, text, content: text, data });
}

/** Replaces what chats read as a mention, a link or formatting: the text may quote the service. */
function plain(text: string): string {
  const alike: Readonly<Record<string, string>> = { '<': '‹', '>': '›', '@': '＠', '[': '(', ']': ')' };
  const replaced = text.replaceAll(/[<>@[\]]/g, (each) => alike[each] ?? each);
  return replaced.slice(0, MOST_TEXT).toWellFormed();
}

/**
 * Headers by Standard Webhooks 1.0 (https://www.standardwebhooks.com): HMAC-SHA-256 of `<id>.<seconds>.<body>`. The
 * standard's library has no licence text.
 * @param secret `whsec_` and the key in base64
 */
function signedHeaders(id: string, at: Date, body: string, secret: string): Record<string, string> {
  const seconds = String(Math.floor(at.getTime() / 1000));
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const mac = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${mac}` };
}

const LIMITS = { connectMs: 10_000, headersMs: 10_000, silenceMs: 10_000 };

/**
 * Receiver of messages about problems. Addresses are judged at each connection, as they may change; a proxy looks up
 * names itself. No redirect is followed.
 */
export function createNotifyReceiver(options: {
  /** Its path and query may be a secret: messages have only host and port. */
  readonly url: string;
  /** Allows addresses that are not public: private, link-local, loopback and the like. */
  readonly allowPrivate: boolean;
  readonly userAgent: string;
  readonly proxy?: ProxySettings | undefined;
  /** For tests. */
  readonly resolve?: typeof lookUp;
}) {
  const { url, allowPrivate, userAgent, proxy, resolve = lookUp } = options;
  const { host, hostname, origin, pathname, search } = new URL(url);
  const refusePrivate = (address: string): TransportError | undefined => {
    if (allowPrivate || ipaddr.process(address).range() === 'unicast') return undefined;
    const why = `${host} is at ${address}, which is not a public address. Set MIRROR_NOTIFY_ALLOW_PRIVATE=on to allow it`;
    return new TransportError(why);
  };
  const lookup: LookupFunction = (name, { family = 0, hints = 0 }, answer) => {
    resolve(name, { all: true, hints, family }, (error, addresses) => {
      // After an error `addresses` is undefined.
      const refused = error ?? addresses.map((each) => refusePrivate(each.address)).find(Boolean);
      answer(refused ?? null, addresses);
    });
  };
  const dispatcher = createDispatcher(LIMITS, proxy, lookup);
  return {
    host,
    /** @throws TransportError unless it is answered with 2xx; the signal's reason */
    async post(body: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
      const literal = hostname.replaceAll(/[[\]]/g, '');
      const refused = isIP(literal) === 0 ? undefined : refusePrivate(literal);
      if (refused !== undefined) throw refused;
      const own = { 'content-type': 'application/json', 'user-agent': userAgent };
      const asked = { origin, path: pathname + search, method: 'POST', body, signal } as const;
      try {
        const answered = dispatcher.request({ ...asked, headers: { ...headers, ...own } });
        const { statusCode, body: answer } = await orAborted(answered, signal);
        answer.on('error', () => {}).destroy();
        if (statusCode < 200 || statusCode > 299) throw new TransportError(`${host} answered with ${statusCode}`);
      } catch (error) {
        signal.throwIfAborted();
        throw networkProblem(error, host, true);
      }
    },
    close: (): Promise<void> => dispatcher.destroy(),
  };
}
