import { PRIORITY } from '../budget/priorities.ts';
import { MalformedAnswer } from '../model/errors.ts';
import { fieldSource } from '../model/json/json-text.ts';
import { readKey } from '../model/key.ts';
import { isCopy } from '../model/page.ts';
import type { Api, ObjectRequest } from './api.ts';
import type { ObjectAnswer } from './envelope.ts';
import { PING_ROUTE } from './service-gate.ts';

export const PING = { path: PING_ROUTE, route: PING_ROUTE, priority: PRIORITY.POLL } as const;

/** How many pings in a row a cache may answer; then it is an error. */
const TRIES = 3;

/**
 * Asks whose the key is, by pings until one is answered by the service itself: what a cache kept proves nothing.
 * @returns the owner's user_id, decimal digits
 * @throws MalformedAnswer; what requests throw
 */
export async function askKeyOwner(
  api: Pick<Api, 'object'>,
  { signal, stop, mayStart }: Pick<ObjectRequest, 'signal' | 'stop' | 'mayStart'>,
): Promise<string> {
  const request = { ...PING, signal, ...(stop && { stop }), ...(mayStart && { mayStart }) };
  for (let tries = 0; tries < TRIES; tries += 1) {
    const answer = await api.object(request);
    const owner = pingedOwner(answer);
    if (!isCopy(answer.served)) return owner;
  }
  throw new MalformedAnswer(
    'GET /v1/ping was answered by a cache on the way (Age above 0), which can’t tell whose key this is now: let it pass',
  );
}

/** The `user_id` of a ping. @throws MalformedAnswer */
export function pingedOwner(answer: ObjectAnswer): string {
  const owner = ownerOf(answer);
  if (owner !== undefined) return owner;
  throw new MalformedAnswer('GET /v1/ping was answered without a user_id that is a 64-bit integer');
}

/** The `user_id` of a ping or an account (specification 2.1, 2.2), decimal digits; undefined where there is none. */
export function ownerOf({ source }: ObjectAnswer): string | undefined {
  const owner = readKey('bigint', fieldSource(source, 'user_id'));
  return 'key' in owner ? owner.key : undefined;
}
