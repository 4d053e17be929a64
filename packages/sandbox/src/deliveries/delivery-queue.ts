import { once } from 'node:events';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { finished } from 'node:stream/promises';
import type { Clock } from '@research-mirror/runtime/clock';
import { Stopped } from '@research-mirror/runtime/service';
import { signatureHeaders } from '../events/signature.ts';
import { NumberedLog } from '../request-log.ts';
import type { Webhook } from '../service/webhooks.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';

/** One delivery of an event to a user's webhook. All its attempts send the same. */
export interface Delivery {
  readonly userId: number;
  readonly eventId: string;
  readonly type: string;
  /** The envelope, whose bytes are signed. */
  readonly body: string;
  /** Signed with a wrong secret, and never retried. */
  readonly forged: boolean;
  /** The second delivery of one event. */
  readonly duplicate: boolean;
}

/** One attempt, as `GET /deliveries` shows it. */
export interface DeliveryRecord extends Omit<Delivery, 'body'> {
  readonly number: number;
  readonly url: string;
  /** When it was sent: epoch milliseconds. */
  readonly at: number;
  /** null: no answer. */
  readonly status: number | null;
  /** 1 is the first. */
  readonly attempt: number;
  /** From sending to the answer, or to the time-out. */
  readonly latencyMs: number;
}

/** Counters of `GET /counters`, under `deliveries`. */
export interface DeliveryCounters {
  /** Events that a registration wanted; of these, the ones lost on purpose (`deliveryLost`). */
  readonly events: number;
  readonly lost: number;
  /** Deliveries, duplicates and forged ones included, dropped because too many waited: the oldest. */
  readonly dropped: number;
  /** Deliveries whose registration was removed before they were sent. */
  readonly unregistered: number;
  readonly attempts: number;
  /** Deliveries answered 2xx, without forged ones; deliveries without one after all attempts. */
  readonly delivered: number;
  readonly failed: number;
  /** Forged deliveries answered 2xx: an error of the receiver. */
  readonly forgedAccepted: number;
  /** Waiting for their first or next attempt, and under way. */
  readonly waiting: number;
  readonly underWay: number;
  /** Events that a long step of the data clock left out. */
  readonly missed: number;
}

/** Longest wait between two attempts: an hour. */
const MAX_WAIT_MS = 3_600_000;

/** A secret that no registration has. */
const WRONG_SECRET = 'f'.repeat(64);

interface QueuedDelivery {
  readonly delivery: Delivery;
  attempts: number;
}

/**
 * Sends deliveries in the background: a bounded number at a time, each until it is answered 2xx or the switches allow
 * no more attempts. Each attempt uses the URL and the secret that are registered at that time.
 */
export class DeliveryQueue {
  readonly #clock: Clock;
  readonly #options: () => SandboxOptions;
  /** The user's registration in force now. */
  readonly #webhookOf: (userId: number) => Webhook | undefined;
  /** An idle connection is kept for the next delivery. */
  readonly #agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };
  readonly #stopping = new AbortController();
  readonly #log = new NumberedLog<DeliveryRecord>();
  /** All deliveries that wait, oldest first; of these, the ones that are due. */
  readonly #waiting = new Set<QueuedDelivery>();
  readonly #ready = new Set<QueuedDelivery>();
  readonly #underWay = new Set<Promise<void>>();
  #counts = { dropped: 0, unregistered: 0, attempts: 0, delivered: 0, failed: 0, forgedAccepted: 0 };

  constructor(clock: Clock, options: () => SandboxOptions, webhookOf: (userId: number) => Webhook | undefined) {
    this.#clock = clock;
    this.#options = options;
    this.#webhookOf = webhookOf;
  }

  /** Adds a delivery, to be sent in `delayMs`. */
  take(delivery: Delivery, delayMs: number): void {
    this.#wait({ delivery, attempts: 0 }, delayMs);
  }

  /** Attempts with numbers above `after`, in the order in which they ended. */
  log(after: number): readonly DeliveryRecord[] {
    return this.#log.after(after);
  }

  counters(): Omit<DeliveryCounters, 'events' | 'lost' | 'missed'> {
    return { ...this.#counts, waiting: this.#waiting.size, underWay: this.#underWay.size };
  }

  /** Clears the counters and the log; the numbers continue. */
  reset(): void {
    this.#log.clear();
    this.#counts = { dropped: 0, unregistered: 0, attempts: 0, delivered: 0, failed: 0, forgedAccepted: 0 };
  }

  /** Aborts the attempts under way, and sends nothing more. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Stopped('the sandbox'));
    this.#waiting.clear();
    this.#ready.clear();
    await Promise.all(this.#underWay);
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }

  #wait(queued: QueuedDelivery, delayMs: number): void {
    const { signal } = this.#stopping;
    if (signal.aborted) return;
    this.#waiting.add(queued);
    for (const oldest of this.#waiting) {
      if (this.#waiting.size <= this.#options().deliveryWaiting) break;
      this.#waiting.delete(oldest);
      this.#ready.delete(oldest);
      this.#counts.dropped += 1;
    }
    if (delayMs <= 0) {
      this.#makeReady(queued);
      return;
    }
    this.#clock.sleep(delayMs, signal).then(
      () => this.#makeReady(queued),
      () => {
        // Stopped.
      },
    );
  }

  #makeReady(queued: QueuedDelivery): void {
    if (!this.#waiting.has(queued)) return;
    this.#ready.add(queued);
    this.#work();
  }

  /** Starts as many attempts as may be under way at a time. */
  #work(): void {
    for (const queued of this.#ready) {
      if (this.#underWay.size >= this.#options().deliveryParallel) return;
      this.#ready.delete(queued);
      this.#waiting.delete(queued);
      const attempt = this.#attempt(queued).finally(() => {
        this.#underWay.delete(attempt);
        this.#work();
      });
      this.#underWay.add(attempt);
    }
  }

  async #attempt(queued: QueuedDelivery): Promise<void> {
    const { body, ...delivery } = queued.delivery;
    const webhook = this.#webhookOf(delivery.userId);
    if (webhook === undefined) {
      this.#counts.unregistered += 1;
      return;
    }
    queued.attempts += 1;
    const at = this.#clock.now();
    const begun = this.#clock.monotonic();
    const secret = delivery.forged ? WRONG_SECRET : webhook.secret;
    const headers = signatureHeaders(body, delivery.eventId, secret, at, this.#options());
    const status = await this.#post(webhook.url, body, headers);
    if (this.#stopping.signal.aborted) return;
    this.#counts.attempts += 1;
    this.#log.add((number) => ({
      number,
      ...delivery,
      url: webhook.url,
      at,
      status,
      attempt: queued.attempts,
      latencyMs: Math.round(this.#clock.monotonic() - begun),
    }));
    this.#finish(queued, status);
  }

  /** @returns the status; null where no answer came, or none in time */
  async #post(url: string, body: string, headers: Record<string, string>): Promise<number | null> {
    const answered = new AbortController();
    const late = new AbortController();
    this.#clock.sleep(this.#options().deliveryTimeoutMs, answered.signal).then(
      () => late.abort(),
      () => {
        // Answered in time.
      },
    );
    const signal = AbortSignal.any([late.signal, this.#stopping.signal]);
    const status = await this.#answerOf(url, body, headers, signal).catch(() => null);
    answered.abort(new Stopped('the timer'));
    return status;
  }

  #finish(queued: QueuedDelivery, status: number | null): void {
    const options = this.#options();
    const accepted = status !== null && status >= 200 && status < 300;
    if (queued.delivery.forged) {
      this.#counts.forgedAccepted += accepted ? 1 : 0;
      return;
    }
    if (accepted) {
      this.#counts.delivered += 1;
      return;
    }
    const final = status !== null && status >= 400 && status < 500 && options.retryOn4xx === 'no';
    if (final || queued.attempts > options.deliveryRetries) this.#counts.failed += 1;
    else this.#wait(queued, Math.min(MAX_WAIT_MS, options.deliveryRetryMs * 2 ** (queued.attempts - 1)));
  }

  /**
   * POSTs an event and reads the whole answer. Redirects are not followed.
   * @returns the status
   * @throws where the answer is incomplete, where `signal` is aborted, and for URLs that parse and Node refuses:
   * `http://%ff@host/`
   */
  async #answerOf(
    url: string,
    body: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<number | null> {
    const bytes = Buffer.from(body);
    const secure = url.startsWith('https:');
    const request = (secure ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      agent: secure ? this.#agents.https : this.#agents.http,
      signal,
      headers: {
        'Content-Type': 'application/json',
        'Content-Length': bytes.length,
        'User-Agent': 'research-service-webhooks/1',
        ...headers,
      },
    });
    // It may come more than once.
    request.on('error', () => {});
    request.end(bytes);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    await finished(response.resume());
    return response.statusCode ?? null;
  }
}
