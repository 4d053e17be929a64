import type { ObjectRequest } from '../../api/api.ts';
import { SharedCall } from './shared-call.ts';

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
