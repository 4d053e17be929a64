import type { ObjectRequest } from '../../api/api.ts';

/**
 * One call that several wait for. It is stopped when nobody waits for it any more; the last one to leave waits for
 * its end, so that nothing goes on behind a stop.
 */
export class SharedCall<T> {
  readonly #nobodyWaits = new AbortController();
  readonly #answer: Promise<T>;
  #waiting = 0;

  /** @param call must end soon when its signal is aborted */
  constructor(call: (stop: AbortSignal) => Promise<T>) {
    this.#answer = call(this.#nobodyWaits.signal);
    this.#answer.catch(() => {}); // heard by those who wait
  }

  /** Everybody has left: it has no result. */
  get isOver(): boolean {
    return this.#nobodyWaits.signal.aborted;
  }

  /** Resolves when it has ended, however. */
  async settled(): Promise<void> {
    await Promise.allSettled([this.#answer]);
  }

  /** @throws what the call throws; the signal's reason when it is aborted */
  async wait(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const left = Promise.withResolvers<never>();
    const leave = (): void => {
      this.#waiting -= 1;
      if (this.#waiting > 0) left.reject(signal.reason as Error);
      else this.#nobodyWaits.abort(signal.reason);
    };
    this.#waiting += 1;
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await Promise.race([this.#answer, left.promise]);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }
}

/** A ping of one key, which all share who wait for one. */
interface SharedPing {
  readonly call: SharedCall<void>;
  readonly ended: Promise<unknown>;
  /** Its request may be out: it says nothing of later answers. */
  sent: boolean;
}

/** The pings under way: one of each key at a time. */
export class SharedPings<K extends { readonly keyHash: string }> {
  readonly #ping: (key: K, stop: AbortSignal) => Promise<void>;
  readonly #byKey = new Map<string, SharedPing>();

  /** @param ping must end soon when `stop` is aborted */
  constructor(ping: (key: K, stop: AbortSignal) => Promise<void>) {
    this.#ping = ping;
  }

  /** Waits for the ping under way, or else for a new one. @throws what the ping throws; the signal's reason */
  current(key: K, waiting: Pick<ObjectRequest, 'signal' | 'stop'>): Promise<void> {
    const ping = this.#byKey.get(key.keyHash);
    return wait(ping === undefined || ping.call.isOver ? this.#begin(key, ping) : ping, waiting);
  }

  /** Waits for a ping that is sent after this call. @throws as `current` */
  next(key: K, waiting: Pick<ObjectRequest, 'signal' | 'stop'>): Promise<void> {
    const ping = this.#byKey.get(key.keyHash);
    return wait(ping === undefined || ping.sent || ping.call.isOver ? this.#begin(key, ping) : ping, waiting);
  }

  /** The new ping is sent when the one before it has ended. */
  #begin(key: K, before: SharedPing | undefined): SharedPing {
    const call = new SharedCall(async (stop) => {
      await before?.ended;
      stop.throwIfAborted();
      ping.sent = true;
      await this.#ping(key, stop);
    });
    const ended = call.settled().finally(() => {
      if (this.#byKey.get(key.keyHash) === ping) this.#byKey.delete(key.keyHash);
    });
    const ping: SharedPing = { call, ended, sent: false };
    this.#byKey.set(key.keyHash, ping);
    return ping;
  }
}

function wait({ call }: SharedPing, { signal, stop }: Pick<ObjectRequest, 'signal' | 'stop'>): Promise<void> {
  return call.wait(stop === undefined ? signal : AbortSignal.any([signal, stop]));
}
