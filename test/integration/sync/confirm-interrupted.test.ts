import { afterEach, describe, expect, it } from 'vitest';
import { Stopped } from '@research-mirror/runtime/service';
import { createFrozenAccount, type TestAccount } from '../../support/sync/read-account.ts';

let account: TestAccount;
afterEach(() => account.close());

describe('an interrupted second reading of suspects', () => {
  it('is repeated by the same process', async () => {
    account = await createFrozenAccount();
    await account.read('research_jobs', 'rows');
    const ids = (await account.sandbox.control.truth({ collection: 'research_jobs' })).map((item) =>
      String((JSON.parse(item) as { readonly job_id: number }).job_id),
    );
    const id = ids[200] ?? '';
    await account.sandbox.control.mutate(
      { op: 'delete', collection: 'research_jobs', id },
      // Changed rows in their places among unchanged ones: the order is trusted.
      ...[20, 60, 100, 140, 180].map((at) => ({
        op: 'update' as const,
        collection: 'research_jobs' as const,
        id: ids[at] ?? '',
        fields: { note: 'changed' },
      })),
    );
    const hourAgo = "clock_timestamp() - interval '1 hour'";
    await account.query(`update mirror.research_jobs set _changed_at = ${hourAgo}`);
    await account.read('research_jobs', 'rows');
    // The first proof is an hour old by both clocks: the database's, and the service's in the answer's Date.
    await account.query(`update mirror_sync.candidate set at = ${hourAgo}, served_at = served_at - interval '1 hour'`);

    const stop = new AbortController();
    account.onRequest = () => stop.abort(new Stopped('the test'));
    // The page at the top is still read, the one with the row is not.
    await expect(account.current.reader.confirmDeletions('research_jobs', stop.signal)).rejects.toThrow(Stopped);
    account.onRequest = () => {};
    await account.current.reader.confirmDeletions('research_jobs', new AbortController().signal);
    expect(await account.query(`select job_id from mirror.research_jobs where _deleted_at is not null`)).toEqual([
      { job_id: id },
    ]);
  });
});
