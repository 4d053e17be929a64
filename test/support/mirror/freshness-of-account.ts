import type { CollectionName } from '../../../src/model/collections.ts';
import { TransportError } from '../../../src/model/errors.ts';
import { Stopped } from '@research-mirror/runtime/service';
import type { TestAccount } from '../sync/read-account.ts';

/** `polled_at` in `freshness`, milliseconds; undefined where it has none. */
export async function polledAt(account: TestAccount, name: CollectionName): Promise<number | undefined> {
  const [row] = await account.query<{ polled_at: Date | null }>(
    `select polled_at from mirror.freshness where collection = '${name}'`,
  );
  return row?.polled_at?.getTime();
}

/** From now on, requests that `which` chooses do not reach the service. */
export function cutOff(account: TestAccount, which: (path: string) => boolean): void {
  account.onRequest = (path) => {
    if (which(path)) throw new TransportError('no route to the service');
  };
}

/** Reads until `requests` were sent, and is stopped then. */
export async function interrupted(
  account: TestAccount,
  name: CollectionName,
  what: 'full' | 'poll',
  requests: number,
): Promise<void> {
  const stop = new AbortController();
  let left = requests;
  account.onRequest = () => {
    if (left === 0) stop.abort(new Stopped('the test'));
    left -= 1;
  };
  await account.read(name, what, stop.signal).catch(() => {});
  account.onRequest = () => {};
}
