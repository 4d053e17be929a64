import { Unusable } from '@research-mirror/runtime/errors';
import { type HTTP_BOUNDS, httpListener, type HttpRequest } from '@research-mirror/runtime/http-listener';
import { messageOf } from '@research-mirror/runtime/message';
import { type NoteLog, Notes } from '@research-mirror/runtime/notes';
import type { Service } from '@research-mirror/runtime/service';
import { answer, type ListenerAnswer, Receiver, type ReceiverOptions } from './receiver.ts';

export interface WebhookServerOptions extends Omit<ReceiverOptions, 'notes'> {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Path of the public URL; some proxies leave it in front of the listener's paths. */
  readonly prefix?: string;
  readonly log: NoteLog;
  /** Called for each answer to a delivery. */
  readonly onAnswer?: (answer: ListenerAnswer) => void;
  readonly bounds?: Partial<typeof HTTP_BOUNDS>;
  readonly answerMs?: number;
}

/** The service waits no longer (specification 2.4). */
export const ANSWER_MS = 1_000;

export interface WebhookServer extends Service {
  /** The port that is open; known once started. */
  port(): number;
}

/** What the listener is for, and which variables say where it listens. */
const DELIVERIES = {
  what: 'deliveries',
  hostVariable: 'MIRROR_WEBHOOK_HOST',
  portVariable: 'MIRROR_WEBHOOK_PORT',
} as const;

/** The listener for deliveries, and nothing else: `POST /webhooks/<user_id>` and `GET /healthz`. */
export function createWebhookServer(options: WebhookServerOptions): WebhookServer {
  const { host, port, clock, log, prefix, onAnswer, bounds = {}, answerMs = ANSWER_MS } = options;
  const notes = new Notes(clock, log);
  const receiver = new Receiver({ ...options, notes });
  const accountOf = (target: string): string | undefined => deliveryAccount(pathOf(target, prefix));

  const answerTo = async ({ method, target, headers, body }: HttpRequest): Promise<ListenerAnswer> => {
    const userId = accountOf(target);
    if (userId === undefined) {
      const isHealth = pathOf(target, prefix) === '/healthz' && (method === 'GET' || method === 'HEAD');
      return isHealth ? answer(200, 'ok') : answer(404, 'nothing is here');
    }
    if (method !== 'POST') return answer(405, 'deliveries are posted');
    const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
    if (encoding !== 'identity' && encoding !== '') {
      const line = `a delivery was compressed (${encoding.slice(0, 20)}), and refused`;
      notes.say('warn', 'encoding', line);
      return answer(415, 'compressed bodies are not taken');
    }
    return receiver.receive({ userId, headers, body });
  };

  const listener = httpListener({
    name: 'webhook server',
    what: DELIVERIES.what,
    host,
    port,
    clock,
    notes,
    bounds,
    answerMs,
    explain: (error) => listenProblem(error, { ...DELIVERIES, host, port }),
    answer: answerTo,
    refusal: answer,
    onDefect: (error) => notes.say('warn', 'defect', `a delivery could not be answered: ${messageOf(error)}`),
    onReply: (target, reply) => {
      if (accountOf(target) !== undefined) onAnswer?.(reply);
    },
  });
  return { ...listener, port: () => listener.address().port };
}

/** `user_id` is a bigint: more digits name no account. */
const DELIVERY = /^\/webhooks\/(\d{1,19})\/?$/;
const MAX_USER_ID = 2n ** 63n - 1n;

/**
 * The path of a request's target, without query and without `prefix`. Nothing is decoded: our paths need no escapes.
 * @param prefix path of the public URL, which proxies leave or remove. A path that is ours as it came is not cut
 *   again, though it may begin like the prefix (of a public URL that ends in `/webhooks`)
 */
export function pathOf(target: string, prefix = ''): string {
  const path = target.split('?', 1)[0] ?? '';
  if (deliveryAccount(path) !== undefined) return path;
  const before = prefix.replace(/\/+$/, '');
  return before !== '' && path.startsWith(`${before}/`) ? path.slice(before.length) : path;
}

/**
 * The account of a delivery's address: `/webhooks/<user_id>`, also with the slash that some services append. The
 * digits are those of the account's row: 007 is nobody.
 */
export function deliveryAccount(path: string): string | undefined {
  const digits = DELIVERY.exec(path)?.[1];
  if (digits === undefined) return undefined;
  const userId = BigInt(digits);
  return userId <= MAX_USER_ID && userId.toString() === digits ? digits : undefined;
}

/** What a listener is for, and the variables that say where it listens. */
interface Listener {
  readonly host: string;
  readonly port: number;
  /** `the status page` */
  readonly what: string;
  readonly hostVariable: string;
  readonly portVariable: string;
}

/**
 * Why a listener can't be opened, for its operator: one sentence, with the system's words only where they add
 * something.
 * @param error as `listen` gave it
 */
export function listenProblem(
  error: NodeJS.ErrnoException,
  { host, port, what, hostVariable, portVariable }: Listener,
): Error {
  const { code } = error;
  if (code === 'EADDRINUSE') {
    return new Unusable(
      `the address ${host}:${port} for ${what} is in use (by another research-mirror?): set ${portVariable} to a free port`,
    );
  }
  if (code === 'EACCES') {
    return new Unusable(`port ${port} for ${what} may not be opened: set ${portVariable} to one above 1023`);
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new Unusable(`${host} for ${what} is no address of this machine: set ${hostVariable}`);
  }
  return new Error(`${host}:${port} can't be listened on for ${what}`, { cause: error });
}
