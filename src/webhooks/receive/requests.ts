import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf } from '@research-mirror/runtime/message';
import { answer, type ListenerAnswer, type AnswerStatus } from './answer.ts';
import { FIRST_BYTES, readDeliveryBody } from './delivery-body.ts';
import { ByteRate } from './byte-rate.ts';
import { Receiver, type ReceiverOptions } from './receiver.ts';
import { Room } from './room.ts';
import type { Clock } from '@research-mirror/runtime/clock';

/** How much more of a refused body is read and thrown away, and for how long (ms). */
const LINGER_BYTES = 1024 * 1024;
const LINGER_MS = 1_000;

/**
 * Answers a request. Where its body has not been read to the end, the connection is closed after a while: a sender
 * that is still sending would be reset at once, and never see the answer. The bytes that come meanwhile are thrown
 * away, as far as `rate` allows.
 */
async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: ListenerAnswer,
  clock: Clock,
  rate: ByteRate,
): Promise<void> {
  if (response.destroyed) return;
  const length = { 'content-length': Buffer.byteLength(body) };
  if (request.readableEnded || !hasBody(request)) {
    response.writeHead(status, { ...headers, ...length }).end(body);
    return;
  }
  response.writeHead(status, { ...headers, ...length, connection: 'close' });
  response.write(body);
  if (rate.take(LINGER_BYTES)) await thrownAway(request, clock);
  response.end();
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Resolves when the body has ended, or enough of it has come, or enough time has passed. */
function thrownAway(request: IncomingMessage, clock: Clock): Promise<void> {
  const over = new AbortController();
  return new Promise((resolve) => {
    let bytes = 0;
    const end = (): void => {
      over.abort();
      request.off('data', onData).off('end', end).off('close', end);
      resolve();
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > LINGER_BYTES) end();
    };
    clock.sleep(LINGER_MS, over.signal).then(end, () => {});
    request.on('data', onData).on('end', end).on('close', end);
    request.resume();
    if (request.destroyed) end();
  });
}

const HEALTH_PATH = '/healthz';

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

export interface RequestsOptions extends ReceiverOptions {
  /** Path of the public URL; some proxies leave it in front of the listener's paths. */
  readonly prefix?: string;
  /** Called for each answer to a delivery, with the milliseconds since its last byte. */
  readonly onAnswer?: (status: AnswerStatus, ms: number) => void;
  readonly limits: RequestLimits;
}

export interface RequestLimits {
  /** Of one delivery. */
  readonly bodyBytes: number;
  /** Of all deliveries in hand. */
  readonly roomBytes: number;
  /**
   * Bytes a second beyond the first 16 KiB of each delivery, for all of them together; twice that after a quiet time.
   * Each byte is read, and hashed up to ten times, before anything is known of its sender. The same bound holds for
   * bytes of refused bodies that are thrown away.
   */
  readonly largeBytesPerSecond: number;
  /** A delivery is judged and stored within this time, or answered 503; milliseconds. */
  readonly answerMs: number;
}

/** Answers the listener's requests. */
export class Requests {
  readonly #options: RequestsOptions;
  readonly #receiver: Receiver;
  readonly #room: Room;
  readonly #large: ByteRate;
  readonly #thrownAway: ByteRate;

  constructor(options: RequestsOptions) {
    this.#options = options;
    this.#receiver = new Receiver(options);
    this.#room = new Room(options.limits.roomBytes);
    const perSecond = options.limits.largeBytesPerSecond;
    const rate = { perSecond, burst: 2 * perSecond };
    this.#large = new ByteRate(options.clock, rate);
    this.#thrownAway = new ByteRate(options.clock, rate);
  }

  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clock, onAnswer } = this.#options;
    // A sender that goes away is nobody's failure.
    request.on('error', () => {});
    response.on('error', () => {});
    const path = pathOf(request.url ?? '', this.#options.prefix);
    const userId = deliveryAccount(path);
    try {
      if (userId === undefined) {
        await send(request, response, elsewhere(path, request.method ?? ''), clock, this.#thrownAway);
        return;
      }
      const begun = { at: clock.monotonic() };
      const result = await this.#delivery(userId, request, response, begun);
      if (result === undefined) return;
      onAnswer?.(result.status, clock.monotonic() - begun.at);
      await send(request, response, result, clock, this.#thrownAway);
    } catch (error) {
      this.#options.notes.say('warn', 'defect', `a delivery could not be answered: ${messageOf(error)}`);
      response.destroy();
    }
  }

  /**
   * @param begun when the last byte came: set once it did
   * @returns undefined where the sender went away
   */
  async #delivery(
    userId: string,
    request: IncomingMessage,
    response: ServerResponse,
    begun: { at: number },
  ): Promise<ListenerAnswer | undefined> {
    const { clock } = this.#options;
    const refused = this.#refusedUnread(request);
    if (refused !== undefined) return refused;
    if (request.headers.expect !== undefined) response.writeContinue();
    const buffered = await readDeliveryBody(request, this.#room, this.#options.limits.bodyBytes, (bytes) =>
      this.#large.take(bytes),
    );
    begun.at = clock.monotonic();
    if (buffered === 'broken') return undefined;
    if (buffered === 'too-large') return this.#tooLarge();
    if (buffered === 'no-room') return this.#noRoom();
    // Released when nobody works on it any more, which may be long after the answer.
    const work = this.#receiver
      .receive({ userId, headers: request.headers, body: buffered.bytes })
      .finally(buffered.release);
    return this.#inTime(work);
  }

  #refusedUnread({ method, headers }: IncomingMessage): ListenerAnswer | undefined {
    if (method !== 'POST') return answer(405, 'deliveries are posted');
    const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
    if (encoding !== 'identity' && encoding !== '') {
      this.#options.notes.say(
        'warn',
        'encoding',
        `a delivery was compressed (${encoding.slice(0, 20)}), and refused`,
      );
      return answer(415, 'compressed bodies are not taken');
    }
    const announced = Number(headers['content-length'] ?? 0);
    if (announced > this.#options.limits.bodyBytes) return this.#tooLarge();
    // Bytes are taken when they come: announced ones take nothing from others.
    return this.#large.has(announced - FIRST_BYTES) ? undefined : this.#noRoom();
  }

  #noRoom(): ListenerAnswer {
    this.#options.notes.say('warn', 'no room', 'too many deliveries at a time: some have to come again');
    return answer(503, 'not now: too many deliveries at a time');
  }

  #tooLarge(): ListenerAnswer {
    const most = this.#options.limits.bodyBytes;
    this.#options.notes.say('warn', 'too large', `a delivery had more than ${most} bytes, and was refused`);
    return answer(413, `more than ${most} bytes`);
  }

  /** The answer, or 503 where it takes too long: an event stored after all is known when it comes again. */
  async #inTime(work: Promise<ListenerAnswer>): Promise<ListenerAnswer> {
    const { clock } = this.#options;
    const over = new AbortController();
    const late = clock.sleep(this.#options.limits.answerMs, over.signal).then(
      () => {
        this.#options.notes.say('warn', 'slow', 'the database takes too long: deliveries have to come again');
        return answer(503, 'not now: the database takes too long');
      },
      () => work,
    );
    try {
      return await Promise.race([work, late]);
    } finally {
      over.abort();
    }
  }
}

function elsewhere(path: string, method: string): ListenerAnswer {
  if (path === HEALTH_PATH && (method === 'GET' || method === 'HEAD')) return answer(200, 'ok');
  return answer(404, 'nothing is here');
}
