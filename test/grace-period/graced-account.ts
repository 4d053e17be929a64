import { afterEach, expect } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { systemClock } from '@research-mirror/runtime/clock';
import { Stopped } from '@research-mirror/runtime/service';
import { createFrozenAccount, type TestAccount } from '../support/sync/read-account.ts';

const GRACE_PERIOD_MS = 1_000;
const KEYS = { research_jobs: 'job_id', lists: 'list_id', list_items: 'id', watchlist: 'id' } as const;
type ListName = keyof typeof KEYS;

export const graceOver = (): Promise<void> => systemClock.sleep(GRACE_PERIOD_MS + 100);

/** Call it once in a test file: an account whose data stand still, made by each test with `open` or `mirrored`. */
export function gracedAccount() {
  let account: TestAccount;
  afterEach(() => account.close());
  const open = async (switches: Partial<SandboxOptions> = {}, grace = '1s'): Promise<TestAccount> =>
    (account = await createFrozenAccount(switches, systemClock, { MIRROR_SETTLE: grace }));
  const read = (name: ListName, what: 'full' | 'poll', signal?: AbortSignal) => account.read(name, what, signal);
  const readWell = async (name: ListName, what: 'full' | 'poll' = 'full') => {
    const outcome = await read(name, what);
    expect(outcome.error).toBeUndefined();
    return outcome;
  };
  /** IDs of what the service has, in its list's order. */
  const ids = async (collection: ListName, list?: string): Promise<string[]> => {
    const which = list === undefined ? { collection } : { collection, list };
    const truth = await account.sandbox.control.truth(which);
    return truth.map((text) => String((JSON.parse(text) as Record<string, unknown>)[KEYS[collection]]));
  };
  const update = (...changed: (string | undefined)[]) =>
    account.sandbox.control.mutate(
      ...changed.map((id) => {
        const fields = { note: 'x' };
        return { op: 'update', collection: 'research_jobs', id: String(id), fields } as const;
      }),
    );
  return {
    open,
    read,
    readWell,
    ids,
    update,
    /** Read once, longer ago than the grace period. */
    mirrored: async (switches?: Partial<SandboxOptions>, names = Object.keys(KEYS) as ListName[]) => {
      await open(switches);
      for (const name of names) await readWell(name);
      await graceOver();
      return account;
    },
    remove: (collection: ListName, ...gone: (string | undefined)[]) =>
      account.sandbox.control.mutate(...gone.map((id) => ({ op: 'delete', collection, id: String(id) }) as const)),
    /** IDs of the rows that are deleted in the mirror, in their order. */
    deleted: async (name: ListName): Promise<string[]> => {
      const key = KEYS[name];
      const rows = await account.query<{ key: string }>(
        `select ${key}::text as key from mirror.${name} where _deleted_at is not null order by ${key}`,
      );
      return rows.map((row) => row.key);
    },
    /** Jobs change and keep their place between unchanged ones: what earns an order trust. */
    trust: async (all: readonly string[]): Promise<void> => {
      await update(all[110], all[120], all[130]);
      await readWell('research_jobs');
    },
    confirm: (name: ListName) => account.current.reader.confirmDeletions(name, new AbortController().signal),
    freshness: async (collection: ListName) => {
      const rows = await account.query<{
        state: string;
        last_error: string | null;
        polled_at: Date;
        complete_as_of: Date;
      }>(
        `select state, last_error, polled_at, complete_as_of from mirror.freshness where collection = '${collection}'`,
      );
      return rows[0];
    },
    /** A full walk of the jobs that is stopped after so many requests, and a new process after it. */
    brokenOff: async (requests: number): Promise<void> => {
      const stop = new AbortController();
      account.asked.length = 0;
      account.onRequest = () => {
        if (account.asked.length === requests) stop.abort(new Stopped('the test'));
      };
      await read('research_jobs', 'full', stop.signal);
      account.onRequest = () => {};
      await account.reopen();
      account.asked.length = 0;
    },
  };
}
