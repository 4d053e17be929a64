import { createHash } from 'node:crypto';
import type { Clock } from '@research-mirror/runtime/clock';
import type { DataClock } from '../data-clock.ts';
import { DeliveryQueue, type Delivery, type DeliveryCounters } from '../deliveries/delivery-queue.ts';
import type { User } from '../service/account.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { eventData } from './event-data.ts';
import type { ItemEvent } from './event-types.ts';
import { EventDetector } from './event-detector.ts';

/** Interval in which new events are looked for. */
const TICK_MS = 100;

/** Extra delay of a delivery that later ones overtake. */
const REORDER_MS = { least: 1000, more: 1000 };

/** Publishes the events of all users' data: each goes to the delivery queue where a registration wants it. */
export class Publisher {
  readonly deliveries: DeliveryQueue;
  readonly #clock: Clock;
  readonly #data: DataClock;
  readonly #options: () => SandboxOptions;
  readonly #random: () => number;
  readonly #detectors: readonly { readonly user: User; readonly detector: EventDetector }[];
  /** Part of all event IDs, so that a restarted sandbox repeats none. */
  readonly #startedAt: number;
  #ids = 0;
  #events = 0;
  #lost = 0;

  constructor(
    clock: Clock,
    data: DataClock,
    options: () => SandboxOptions,
    users: ReadonlyMap<number, User>,
    random: () => number,
  ) {
    this.#clock = clock;
    this.#data = data;
    this.#options = options;
    this.#random = random;
    this.#startedAt = clock.now();
    this.#detectors = [...users.values()].map((user) => ({
      user,
      detector: new EventDetector(user.data, options, data.now()),
    }));
    const webhookOf = (userId: number) => users.get(userId)?.registration.at(clock.monotonic());
    this.deliveries = new DeliveryQueue(clock, options, webhookOf);
  }

  /** Publishes the events up to the data clock's present time. */
  tick(): void {
    const now = this.#data.now();
    for (const { user, detector } of this.#detectors)
      for (const event of detector.detect(now)) this.publishItemEvent(user, event);
  }

  /** Calls `tick` at each interval. @throws the signal's reason */
  async run(signal: AbortSignal): Promise<never> {
    for (;;) {
      this.tick();
      await this.#clock.sleep(TICK_MS, signal);
    }
  }

  /** Publishes an event about an item. @returns the event's ID; undefined where no registration wants it */
  publishItemEvent(user: User, event: ItemEvent): string | undefined {
    return this.publish(user, event.type, event.at, () => eventData(user.data, event, this.#options()));
  }

  /**
   * Publishes an event to the user's webhook, where that wants the type.
   * @param at time of the data clock
   * @param dataOf gives `data` of the envelope; undefined: no such field
   * @returns the event's ID; undefined where no registration wants it
   */
  publish(user: User, type: string, at: number, dataOf: () => unknown): string | undefined {
    const webhook = user.registration.at(this.#clock.monotonic());
    if (webhook === undefined || webhook.eventTypes?.includes(type) === false) return undefined;
    const eventId = this.#newId(user);
    const createdAt = new Date(at).toISOString();
    const data = dataOf();
    const bodyOf = (id: string): string => JSON.stringify({ id, type, created_at: createdAt, data });
    const { userId } = user.data;
    const delivery = { userId, eventId, type, body: bodyOf(eventId), forged: false, duplicate: false };
    const options = this.#options();
    this.#events += 1;
    if (this.#chance(options.deliveryForged)) {
      const forgedId = this.#newId(user);
      this.#send({ ...delivery, eventId: forgedId, body: bodyOf(forgedId), forged: true });
    }
    if (this.#chance(options.deliveryLost)) {
      this.#lost += 1;
      return eventId;
    }
    this.#send(delivery);
    if (this.#chance(options.deliveryDuplicate)) this.#send({ ...delivery, duplicate: true });
    return eventId;
  }

  counters(): DeliveryCounters {
    const missed = this.#detectors.reduce((sum, { detector }) => sum + detector.missed, 0);
    return { events: this.#events, lost: this.#lost, missed, ...this.deliveries.counters() };
  }

  /** Clears the counters and the log. */
  reset(): void {
    this.#events = 0;
    this.#lost = 0;
    this.deliveries.reset();
  }

  #send(delivery: Delivery): void {
    const { deliveryDelayMin, deliveryDelayMax, deliveryReorder } = this.#options();
    const delayMs = this.#chance(deliveryReorder) ? REORDER_MS.least + this.#random() * REORDER_MS.more : 0;
    const span = deliveryDelayMax - deliveryDelayMin;
    this.deliveries.take(delivery, deliveryDelayMin + (span > 0 ? span * this.#random() : 0) + delayMs);
  }

  #newId(user: User): string {
    this.#ids += 1;
    const source = `${this.#options().seed}/${user.data.userId}/${this.#startedAt}/${this.#ids}`;
    return `evt_${createHash('sha256').update(source).digest('hex').slice(0, 24)}`;
  }

  /** Draws a random number only where the switch is on: a switch that is off does not change other draws. */
  #chance(share: number): boolean {
    return share > 0 && this.#random() < share;
  }
}
