import type { ClockMove, SandboxCounters } from '../src/control/control.ts';
import type { EventRequest, WebhookChange } from '../src/control/event-calls.ts';
import type { Mutation } from '../src/control/mutation.ts';
import type { DeliveryRecord } from '../src/deliveries/delivery-queue.ts';
import type { SandboxOptions } from '../src/switches/sandbox-switches.ts';
import type { OperationRecord, RequestRecord } from '../src/request-log.ts';

/** Which items: a collection of a user (default: the first); for `list_items` the list's ID too. */
export interface ItemSelection {
  readonly collection: Mutation['collection'];
  readonly user?: number;
  readonly list?: string;
}

/** Client of the sandbox's control API. Every call throws where the sandbox refuses it. */
export class SandboxControl {
  readonly #url: string;

  constructor(controlUrl: string) {
    this.#url = controlUrl;
  }

  /** JSON texts of the items, exactly as their list would answer them now, in its order. */
  truth(which: ItemSelection): Promise<string[]> {
    return this.#texts(`/truth?${queryOf(which)}`);
  }

  async count(which: ItemSelection): Promise<number> {
    return (await this.#json<{ count: number }>(`/count?${queryOf(which)}`)).count;
  }

  counters(): Promise<SandboxCounters> {
    return this.#json('/counters');
  }

  /** Requests with numbers above `after` (the last 200,000 are kept). */
  log(after = 0): Promise<RequestRecord[]> {
    return this.#lines(`/log?after=${after}`);
  }

  /** Attempts to deliver an event with numbers above `after`, in the order in which they ended (the last 200,000). */
  deliveries(after = 0): Promise<DeliveryRecord[]> {
    return this.#lines(`/deliveries?after=${after}`);
  }

  /** POST operations that took effect, with numbers above `after` (the last 200,000). */
  operations(after = 0): Promise<OperationRecord[]> {
    return this.#lines(`/operations?after=${after}`);
  }

  async resetCounters(): Promise<void> {
    await this.#json('/counters/reset', {});
  }

  /** Clears the counts of the rate limits. */
  async resetWindows(): Promise<void> {
    await this.#json('/windows/reset', {});
  }

  /** Changes data now. @returns the items' IDs */
  async mutate(...mutations: Mutation[]): Promise<string[]> {
    return (await this.#json<{ ids: string[] }>('/mutations', mutations)).ids;
  }

  /** Changes switches while the sandbox runs. @returns all of them */
  change(options: Partial<SandboxOptions>): Promise<SandboxOptions> {
    return this.#json('/options', options);
  }

  /** Moves the data clock where `move` is given. @returns its time */
  clock(move?: ClockMove): Promise<{ now: string; frozen: boolean }> {
    return this.#json('/clock', move);
  }

  /** The user's registration, with its secret. */
  webhook(user?: number): Promise<{ url: string; secret: string; eventTypes: string[] | null } | null> {
    return this.#json(user === undefined ? '/webhook' : `/webhook?user=${user}`);
  }

  /** Registers a URL as another holder of the account's key, or removes the registration (url null). */
  async registerElsewhere(change: WebhookChange): Promise<void> {
    await this.#json('/webhook', change);
  }

  /** Replaces the secret, as the service may do without telling. */
  async rotateSecret(user?: number): Promise<void> {
    await this.#json('/webhook/rotate', user === undefined ? {} : { user });
  }

  /** Emits events now. @returns their IDs; null where no registration wants them */
  async emit(...requests: EventRequest[]): Promise<(string | null)[]> {
    return (await this.#json<{ ids: (string | null)[] }>('/events', requests)).ids;
  }

  async #texts(path: string): Promise<string[]> {
    return (await (await this.#fetch(path)).text()).split('\n').filter((line) => line !== '');
  }

  async #lines<T>(path: string): Promise<T[]> {
    return (await this.#texts(path)).map((line) => JSON.parse(line) as T);
  }

  async #json<T>(path: string, body?: unknown): Promise<T> {
    return (await (await this.#fetch(path, body)).json()) as T;
  }

  async #fetch(path: string, body?: unknown): Promise<Response> {
    const response = await fetch(
      `${this.#url}${path}`,
      body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) },
    );
    if (response.ok) return response;
    throw new Error(`the sandbox refuses ${path}: ${await response.text()}`);
  }
}

function queryOf(which: ItemSelection): string {
  const query = new URLSearchParams({ collection: which.collection });
  if (which.user !== undefined) query.set('user', String(which.user));
  if (which.list !== undefined) query.set('list', which.list);
  return query.toString();
}
