import type { Clock } from '@research-mirror/runtime/clock';
import type { GroupModel } from './group-model.ts';
import { Reservations } from './slots/reservations.ts';
import { SlotQueue } from './slots/slot-queue.ts';

/** One endpoint group at the rim: its waiting tasks, its reservations, its one timer. */
export class EndpointGroup {
  readonly model: GroupModel;
  readonly queue = new SlotQueue();
  readonly reservations = new Reservations();
  /** A reservation is being committed. */
  reserving = false;
  readonly #clock: Clock;
  #failure: { readonly error: unknown } | undefined;
  #wake: { readonly at: number; readonly controller: AbortController } | undefined;

  constructor(model: GroupModel, clock: Clock) {
    this.model = model;
    this.#clock = clock;
  }

  /** Calls `wake` at the monotonic moment `at`, or earlier. */
  wakeAt(at: number, wake: () => void): void {
    if (this.#wake !== undefined && this.#wake.at <= at) return;
    this.stopWaking();
    const controller = new AbortController();
    const mine = { at, controller };
    this.#wake = mine;
    const fire = (): void => {
      if (this.#wake === mine) this.#wake = undefined;
      wake();
    };
    // Whole milliseconds, rounded up, and at least one: timers cut fractions off, and sums of fractions are inexact.
    // Both would wake too early, again and again.
    const ms = Math.max(1, Math.ceil(at - this.#clock.monotonic()));
    this.#clock.sleep(ms, controller.signal).then(fire, () => {
      // An earlier wake-up took its place, or the budget was closed.
    });
  }

  stopWaking(): void {
    this.#wake?.controller.abort();
    this.#wake = undefined;
  }

  /** Every task that waits now rejects with `error`. */
  fail(error: unknown): void {
    this.#failure = { error };
    while (this.queue.waiting > 0) this.queue.startOne();
    this.#failure = undefined;
  }

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
