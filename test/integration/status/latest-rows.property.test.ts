import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openHistory } from '../../../src/mirror/history.ts';
import { latestRows } from '../../../src/status/lookup-store.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import { runs } from '../../support/effort.ts';
import { testAccounts } from '../../support/mirror/test-accounts.ts';

// After any changes, the latest rows are those whose newest change is last in the view.

const newAccount = testAccounts({ gracePeriodMs: 0 });

const NAMES = ['research_jobs', 'watchlist'] as const;
const FIELD = { research_jobs: 'job_id', watchlist: 'id' } as const;

const step = fc.record({
  name: fc.constantFrom(...NAMES),
  ids: fc.uniqueArray(fc.nat({ max: 8 }), { minLength: 1 }),
  note: fc.nat({ max: 2 }),
  gone: fc.boolean(),
});

interface Seen {
  readonly collection: CollectionName;
  readonly op: string;
  readonly key: string;
  readonly changeId: string;
}

/** Each row by its newest change, and whether that deleted it. Removed rows are left out. */
function newestOf(view: readonly Seen[], deletes: 'soft' | 'hard'): string[] {
  const rows = Map.groupBy(view, ({ collection, key }) => `${collection} ${key}`);
  return [...rows.values()]
    .map((changes) => changes.filter(({ changeId }) => changeId === changes[0]?.changeId))
    .flatMap(([newest, ...more]) => {
      const ops = new Set([newest, ...more].map((each) => each?.op));
      if (newest === undefined || (deletes === 'hard' && ops.has('delete'))) return [];
      const isDeleted = ops.has('delete') && !ops.has('undelete');
      return [`${newest.collection} ${newest.key} ${isDeleted ? 'deleted' : 'null'}`];
    })
    .slice(0, 20);
}

it.each(['soft', 'hard'] as const)(
  'the latest rows are the end of the view by row, MIRROR_DELETES=%s',
  async (deletes) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (all) => {
        const account = await newAccount({ deletes });
        const { userId } = account.fence;
        await openHistory(account.database.db, account.fence, [...NAMES], true);
        for (const { name, ids, note, gone } of all) {
          const json = JSON.stringify(ids.map((id) => ({ [FIELD[name]]: id, note })));
          const text = name === 'watchlist' ? json.replaceAll(/"id":(\d+)/g, '"id":"$1"') : json;
          const proof = gone ? ({ proof: { kind: 'snapshot' } } as const) : {};
          await account.observe(name, text, proof);
          if (!gone) continue;
          await account.observe(name, text, proof);
          await account.applyDeletions(name, { accept: true });
        }
        const view = await account.query<Seen>(`
        select distinct collection, op, key, change_id as "changeId" from mirror.changes
        where _user_id = ${userId} order by change_id desc`);
        // If deleted rows are removed, a row that comes back is a new one.
        fc.pre(deletes === 'soft' || view.every(({ op }) => op !== 'undelete'));
        const found = await latestRows(account.database.db, userId);
        expect(found.map(({ row, state }) => `${row?.collection} ${row?.key} ${state}`)).toEqual(
          newestOf(view, deletes),
        );
      }),
      { numRuns: runs(20, 150) },
    );
  },
);
