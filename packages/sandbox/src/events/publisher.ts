import { createHash } from 'node:crypto';
import type { Clock } from '@research-mirror/runtime/clock';
import type { DataClock } from '../data-clock.ts';
import { Courier } from '../deliveries/courier.ts';
import type { Delivery, DeliveryCounters } from '../deliveries/delivery.ts';
import type { User } from '../service/account/user.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { eventData } from './event-data.ts';
import { News } from './news.ts';
import type { Occurrence } from './occurrence.ts';

/** How often the data is looked at for news, in milliseconds. */
const TICK_MS = 100;

/** By how much a delivery that others overtake is late. */
const REORDER_MS = { least: 1000, more: 1000 };

export interface PublisherOptions {
  readonly clock: Clock;
  readonly data: DataClock;
  readonly options: () => SandboxOptions;
  readonly users: ReadonlyMap<number, User>;
  readonly random: () => number;
}

/** Makes events of what happens to the users' data, and hands them to the courier as the registrations say. */
export class Publisher {
  readonly courier: Courier;
  readonly #clock: Clock;
  readonly #data: DataClock;
  readonly #options: () => SandboxOptions;
  readonly #random: () => number;
  readonly #news: readonly { readonly user: User; readonly news: News }[];
  /** Part of all event IDs: a sandbox that is started again uses none twice. */
  readonly #startedAt: number;
  #ids = 0;
  #events = 0;
  #lost = 0;

  constructor({ clock, data, options, users, random }: PublisherOptions) {
    this.#clock = clock;
    this.#data = data;
    this.#options = options;
    this.#random = random;
    this.#startedAt = clock.now();
    this.#news = [...users.values()].map((user) => ({
      user,
      news: new News(user.data, options, data.now()),
    }));
    const webhookOf = (userId: number) => users.get(userId)?.registration.at(clock.monotonic());
    this.courier = new Courier({ clock, options, webhookOf });
  }

  /** Emits what has happened up to the present moment of the data. */
  tick(): void {
    const now = this.#data.now();
    for (const { user, news } of this.#news)
      for (const occurrence of news.until(now)) this.tellOf(user, occurrence);
  }

  /** Looks at the data again and again. @throws the signal's reason */
  async run(signal: AbortSignal): Promise<never> {
    for (;;) {
      this.tick();
      await this.#clock.sleep(TICK_MS, signal);
    }
  }

  /** Emits something that happened to an item. @returns the event's ID; undefined where nobody is to be told */
  tellOf(user: User, occurrence: Occurrence): string | undefined {
    return this.tell(user, occurrence.type, occurrence.at, () =>
      eventData(user.data, occurrence, this.#options()),
    );
  }

  /**
   * Sends an event to the user's webhook, if that wants the type.
   * @param at moment of the data
   * @param dataOf `data` of the envelope; undefined: no such field
   * @returns the event's ID; undefined where nobody is to be told
   */
  tell(user: User, type: string, at: number, dataOf: () => unknown): string | undefined {
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
    const missed = this.#news.reduce((sum, { news }) => sum + news.missed, 0);
    return { events: this.#events, lost: this.#lost, missed, ...this.courier.counters() };
  }

  /** Begins the counters and the log anew. */
  reset(): void {
    this.#events = 0;
    this.#lost = 0;
    this.courier.reset();
  }

  #send(delivery: Delivery): void {
    const { deliveryDelayMin, deliveryDelayMax, deliveryReorder } = this.#options();
    const delayMs = this.#chance(deliveryReorder) ? REORDER_MS.least + this.#random() * REORDER_MS.more : 0;
    const span = deliveryDelayMax - deliveryDelayMin;
    this.courier.take(delivery, deliveryDelayMin + (span > 0 ? span * this.#random() : 0) + delayMs);
  }

  #newId(user: User): string {
    this.#ids += 1;
    const source = `${this.#options().seed}/${user.data.userId}/${this.#startedAt}/${this.#ids}`;
    return `evt_${createHash('sha256').update(source).digest('hex').slice(0, 24)}`;
  }

  /** Throws the dice only for switches that are on: one that is off disturbs no other source of chance. */
  #chance(share: number): boolean {
    return share > 0 && this.#random() < share;
  }
}
