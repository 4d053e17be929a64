import { readObject, readPage, servedBy } from '../../api/envelope.ts';
import { refusal, refuseOtherSuccess } from '../../api/refusal.ts';
import type { HttpAnswer, Transport } from '../../api/transport.ts';
import type { RateHeaders } from '../../budget/evidence/rate-headers.ts';
import { readRateHeaders } from '../../budget/evidence/rate-headers.ts';
import type { Secret } from '../../config/secret.ts';
import { COLLECTIONS, type CollectionName } from '../../model/collections.ts';
import { pingedOwner } from '../../sync/ownership/owner-of.ts';
import type { Clock } from '@research-mirror/runtime/clock';

/** One key's ping, as it was answered. */
export interface Pinged {
  readonly key: Secret;
  /** Its place in MIRROR_API_KEY, in words. */
  readonly place: string;
  /** Decimal digits; undefined where `error` says why. */
  readonly owner: string | undefined;
  /** Classified (src/model/errors.ts): what the answer means, or that there was none. */
  readonly error: unknown;
  /** Undefined: no answer. */
  readonly answer: HttpAnswer | undefined;
  readonly rate: RateHeaders | undefined;
  /** The service's clock when it answered, to the second, ms; undefined: it did not say, or a cache answered. */
  readonly date: number | undefined;
  /** This machine's wall clock. */
  readonly askedAt: number;
  readonly answeredAt: number;
}

/**
 * Pings with one key, once. No slot is reserved, since nothing is to be written: the request counts as one of another
 * user of the key, for which MIRROR_BUDGET_SHARE leaves room.
 */
export async function pingOnce(
  { transport, clock, scrub }: PingContext,
  key: Secret,
  place: string,
  signal: AbortSignal,
): Promise<Pinged> {
  const path = '/v1/ping';
  const askedAt = clock.now();
  let answer: HttpAnswer | undefined;
  let owner: string | undefined;
  let error: unknown;
  try {
    answer = await transport.get(path, key.reveal(), signal, 'item');
    const refused = refusal(`GET ${path}`, answer, scrub, clock.now());
    if (refused !== undefined) throw refused;
    if (answer.bodyError !== undefined) throw answer.bodyError;
    refuseOtherSuccess(answer.status);
    owner = pingedOwner(readObject(answer.text));
  } catch (failure) {
    signal.throwIfAborted();
    error = failure;
  }
  const answeredAt = clock.now();
  const served = answer === undefined ? undefined : servedBy(answer.headers);
  return {
    key,
    place,
    owner,
    error,
    answer,
    rate: answer === undefined ? undefined : readRateHeaders(answer.headers, answeredAt),
    date: served?.ageMs === 0 ? served.date : undefined,
    askedAt,
    answeredAt,
  };
}

/**
 * Reads one item of each collection's endpoint, as with pings without a slot; of lists' items those of the first list.
 * @returns why some can't be read, classified
 */
export async function readEndpoints(
  { transport, clock, scrub }: PingContext,
  { key }: Pinged,
  collections: readonly CollectionName[],
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const refused: unknown[] = [];
  let list: string | undefined;
  for (const each of COLLECTIONS.filter(({ name }) => collections.includes(name))) {
    if (each.name === 'list_items' && list === undefined) continue;
    const path = `${each.path(list ?? '')}${each.kind === 'list' ? '?limit=1' : ''}`;
    try {
      const answer = await transport.get(path, key.reveal(), signal, 'page');
      const error = refusal(`GET ${path}`, answer, scrub, clock.now()) ?? answer.bodyError;
      if (error !== undefined) throw error;
      if (each.kind === 'single') readObject(answer.text);
      else {
        const [first] = readPage(answer.text, each.keyField, each.keyType).items;
        if (each.name === 'lists') list = first?.key;
      }
    } catch (error) {
      signal.throwIfAborted();
      refused.push(error);
    }
  }
  return refused;
}

export interface PingContext {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly scrub: (text: string) => string;
}
