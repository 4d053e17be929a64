import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf } from '@research-mirror/runtime/message';
import { answer, type ListenerAnswer, type AnswerStatus } from './answer.ts';
import { FIRST_BYTES, readDeliveryBody } from './delivery-body.ts';
import { ByteRate } from './byte-rate.ts';
import { deliveryAccount, HEALTH_PATH, pathOf } from './paths.ts';
import { Receiver, type ReceiverOptions } from './receiver.ts';
import { Room } from './room.ts';
import { send } from './send.ts';

export interface RequestsOptions extends ReceiverOptions {
  /** Path of the public URL: in front of the listener's paths where a proxy leaves it there. */
  readonly prefix?: string;
  /** Each answer to a delivery, and the milliseconds from its last byte to the answer. */
  readonly onAnswer?: (status: AnswerStatus, ms: number) => void;
  readonly limits: RequestLimits;
}

export interface RequestLimits {
  /** Of one delivery. */
  readonly bodyBytes: number;
  /** Of all deliveries in hand. */
  readonly roomBytes: number;
  /**
   * What large deliveries may have beyond the first 16 KiB, all together, a second, and twice that after a quiet time:
   * each byte is read, and hashed up to ten times, before anything is known of who sent it. What is thrown away of
   * bodies that are refused has the same bound.
   */
  readonly largeBytesPerSecond: number;
  /** A delivery is judged and stored within this time, or answered 503; milliseconds. */
  readonly answerMs: number;
}

/** What becomes of the listener's requests. */
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
    // The body is released when nobody works on it any more, be it long after the answer.
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
    // Taken when they come: who only announces them takes nothing from others.
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

  /** The answer, or 503 where it takes too long: what is stored after all is known when it comes again. */
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
