import { Unusable } from '@research-mirror/runtime/errors';
import { type HTTP_BOUNDS, httpListener, type HttpRequest } from '@research-mirror/runtime/http-listener';
import { messageOf } from '@research-mirror/runtime/message';
import { type NoteLog, Notes } from '@research-mirror/runtime/notes';
import { answer, createReceiver, type ListenerAnswer } from './receiver.ts';

/** Longest time for which the service waits for an answer, ms (specification 2.4). */
export const ANSWER_MS = 1_000;

export type WebhookServer = ReturnType<typeof createWebhookServer>;
export type WebhookServerOptions = Parameters<typeof createWebhookServer>[0];

/** The listener for deliveries, and nothing else: `POST /webhooks/<user_id>` and `GET /healthz`. */
export function createWebhookServer(
  options: Omit<Parameters<typeof createReceiver>[0], 'notes'> & {
    readonly host: string;
    /** 0 takes a free port. */
    readonly port: number;
    /** Path of the public URL, which some proxies leave in front of the listener's paths. */
    readonly prefix?: string;
    readonly log: NoteLog;
    /** Called for each answer to a delivery. */
    readonly onAnswer?: (answer: ListenerAnswer) => void;
    readonly bounds?: Partial<typeof HTTP_BOUNDS>;
    readonly answerMs?: number;
  },
) {
  const { host, port, clock, log, prefix, onAnswer, bounds = {}, answerMs = ANSWER_MS } = options;
  const notes = new Notes(clock, log);
  const receiver = createReceiver({ ...options, notes });
  const place = { what: 'deliveries', host, port };
  const variables = { hostVariable: 'MIRROR_WEBHOOK_HOST', portVariable: 'MIRROR_WEBHOOK_PORT' };
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
      notes.say('warn', 'encoding', `a delivery was compressed (${encoding.slice(0, 20)}), and refused`);
      return answer(415, 'compressed bodies are not accepted');
    }
    return receiver.receive({ userId, headers, body });
  };

  const listener = httpListener({
    name: 'webhook server',
    ...place,
    clock,
    notes,
    bounds,
    answerMs,
    explain: (error) => listenProblem(error, { ...place, ...variables }),
    answer: answerTo,
    refusal: answer,
    onDefect: (error) => notes.say('warn', 'defect', `a delivery could not be answered: ${messageOf(error)}`),
    onReply: (target, reply) => {
      if (accountOf(target) !== undefined) onAnswer?.(reply);
    },
  });
  return {
    ...listener,
    /** The open port, once started. */
    port: () => listener.address().port,
  };
}

const DELIVERY = /^\/webhooks\/(\d{1,19})\/?$/;
const MAX_USER_ID = 2n ** 63n - 1n;

/**
 * The path of a request's target, without query and without `prefix`. Nothing is decoded: our paths need no escapes.
 * @param prefix path of the public URL, which proxies leave or remove. A delivery's path is not cut again, even if it
 *   begins with the prefix (a public URL may end in `/webhooks`)
 */
export function pathOf(target: string, prefix = ''): string {
  const path = target.split('?', 1)[0] ?? '';
  if (deliveryAccount(path) !== undefined) return path;
  const before = prefix.replace(/\/+$/, '');
  return before !== '' && path.startsWith(`${before}/`) ? path.slice(before.length) : path;
}

/**
 * The account of a delivery's path: `/webhooks/<user_id>`, also with the slash that some services append. The digits
 * are those of the account's row, a bigint: 007 is no account.
 */
export function deliveryAccount(path: string): string | undefined {
  const digits = DELIVERY.exec(path)?.[1];
  if (digits === undefined) return undefined;
  const userId = BigInt(digits);
  return userId <= MAX_USER_ID && userId.toString() === digits ? digits : undefined;
}

/**
 * An operator's message for a listener that can't be opened: one sentence, with the system's words if they help.
 * @param error of `listen`
 * @param listener its address, what it is for (`the status page`), and the variables that set the address
 */
export function listenProblem(
  error: NodeJS.ErrnoException,
  listener: { readonly port: number } & Readonly<Record<'host' | 'what' | 'hostVariable' | 'portVariable', string>>,
): Error {
  const { code } = error;
  const { host, port, what, hostVariable, portVariable } = listener;
  if (code === 'EADDRINUSE') {
    return new Unusable(
      `the address ${host}:${port} for ${what} is in use (by another research-mirror?). Set ${portVariable} to a free port`,
    );
  }
  if (code === 'EACCES') {
    return new Unusable(`this user may not open port ${port} for ${what}. Set ${portVariable} to one above 1023`);
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new Unusable(
      `${host} for ${what} is not an address of this machine. Set another one in ${hostVariable}, such as 127.0.0.1`,
    );
  }
  return new Error(`${host}:${port} can't be listened on for ${what}`, { cause: error });
}
