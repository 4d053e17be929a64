import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readLatestChanges } from '../../../../src/db/status/latest-changes.ts';
import { openHistory } from '../../../../src/mirror/history/coverage.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';
import {
  createMigratedDatabase,
  type MigratedDatabase,
} from '../../../support/databases/migrated-database.ts';
import { runs } from '../../../support/effort.ts';
import { changeId, MirroredAccount } from '../../../support/mirror/mirrored-account.ts';

// Whatever happens to the rows: the latest changes are the newest of the view, those of ten minutes together.

let database: MigratedDatabase;
let users = 0;
beforeAll(async () => {
  database = await createMigratedDatabase();
});
afterAll(() => database.drop());

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
  readonly key: string | null;
  readonly field: string | null;
  readonly changeId: string;
}

/** The view, in the order and the groups that people are shown. A row that comes back has two changes in one. */
function grouped(changes: readonly Seen[]): Pick<Seen, 'changeId'>[] {
  // A removed row's last version stands under the deletion's change ID: how it began is older.
  const removed = new Set(changes.filter(({ op }) => op === 'delete').map(({ changeId }) => changeId));
  const last = changes.filter(
    ({ op, changeId }) => op === 'delete' || op === 'undelete' || !removed.has(changeId),
  );
  const versions = Map.groupBy(last, ({ changeId }) => changeId);
  const groups = Map.groupBy(versions.values(), (version) => {
    const { collection, op = '', changeId } = version[0] ?? ({ changeId: '0' } as Partial<Seen>);
    const alone = version.some((each) => each.op === 'undelete' || each.op === 'update');
    return alone ? String(changeId) : `${collection} ${op} ${BigInt(changeId ?? 0) / 600_000_000n}`;
  });
  return [...groups.values()]
    .flatMap((group) => {
      if (group.length <= 3) return group.flat().map((each) => ({ ...each, rows: 1 }));
      return (group[0] ?? []).map((each) => ({ ...each, key: null, rows: group.length }));
    })
    .toSorted((a, b) => Number(BigInt(b.changeId) - BigInt(a.changeId)))
    .slice(0, 12);
}

it.each(['soft', 'hard'] as const)('is the end of the view, MIRROR_DELETES=%s', async (deletes) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), fc.integer({ min: 1, max: 4 }), async (all, pace) => {
      users += 1;
      const account = await MirroredAccount.make(database, String(users), { gracePeriodMs: 0, deletes });
      await openHistory(database.db, account.fence, [...NAMES], true);
      for (const { name, ids, note, gone } of all) {
        const json = JSON.stringify(ids.map((id) => ({ [FIELD[name]]: id, note })));
        const text = name === 'watchlist' ? json.replaceAll(/"id":(\d+)/g, '"id":"$1"') : json;
        const proof = gone ? ({ proof: { kind: 'snapshot' } } as const) : {};
        await account.observe(name, text, proof);
        if (!gone) continue;
        await account.observe(name, text, proof);
        await account.applyDeletions(name, { accept: true });
      }
      // A change each few minutes.
      const moved = `_change_id = ${changeId(0)} + (_change_id - ${changeId(0)}) * ${pace} * 60000000`;
      for (const table of NAMES.flatMap((name) => [name, `${name}_history`])) {
        await account.query(`update mirror.${table} set ${moved} where _user_id = ${users}`);
      }
      const view = await account.query<Seen>(`
        select collection, op, key, field, change_id as "changeId" from mirror.changes
        where _user_id = ${users} order by change_id desc, changed_at desc, field`);
      // Where deleted rows are removed, one that came back is a new one: it shows when the view is asked.
      fc.pre(deletes === 'soft' || view.every(({ op }) => op !== 'undelete'));
      const mark = { userId: String(users), changeId: view[0]?.changeId ?? '0' };
      const found = await readLatestChanges(database.db, [mark]);
      expect(
        found.map(({ collection, op, key, field, rows, changeId }) => ({
          collection,
          op,
          key,
          field,
          rows,
          changeId,
        })),
      ).toEqual(grouped(view));
    }),
    { numRuns: runs(20, 150) },
  );
});
