import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { deleteAllBut, itemsWith, proveAbsent, SNAPSHOT, wrongCounters } from '../../../support/mirror/deleting.ts';
import type { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';
import { runs } from '../../../support/effort.ts';

const newAccount = testAccounts();

const LISTS = ['1', '2', '3'];
const keys = fc.subarray(Array.from({ length: 16 }, (_, key) => key));
const some: fc.Arbitrary<readonly number[]> = fc.oneof(keys, fc.constantFrom([], [0, 1, 2]));

const page = fc.record({
  op: fc.constantFrom('page', 'page', 'prove'),
  name: fc.constantFrom('research_jobs', 'lists', 'list_items', 'list_items'),
  keys: some,
  parent: fc.constantFrom(...LISTS),
  whole: fc.boolean(),
  contradiction: fc.nat(9).map((often) => often === 0),
});
const deletion = fc.record({
  op: fc.constant('delete'),
  parent: fc.constantFrom(...LISTS),
  accept: fc.boolean(),
});
const step = fc.oneof(
  { weight: 5, arbitrary: page },
  { weight: 2, arbitrary: fc.constant({ op: 'pass' } as const) },
  { weight: 2, arbitrary: deletion },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

async function take(account: MirroredAccount, taken: Step): Promise<unknown> {
  if (taken.op === 'pass') return account.age(account.gracePeriodMs);
  if (taken.op === 'delete') {
    const { accept } = taken;
    await account.applyDeletions('list_items', { parent: taken.parent, accept });
    await account.applyDeletions('lists', { accept });
    return account.applyDeletions('research_jobs', { accept });
  }
  const { name, contradiction, whole } = taken;
  const field = { research_jobs: 'job_id', lists: 'list_id', list_items: 'id' }[name];
  const known = name === 'lists' ? taken.keys.filter((key) => key > 0 && key <= 3) : taken.keys;
  const items = itemsWith(field, known);
  const parent = name === 'list_items' ? taken.parent : '';
  if (taken.op === 'prove') return proveAbsent(account, name, items, parent);
  return account.observe(name, items, { parent, contradiction, proof: whole ? SNAPSHOT : undefined });
}

it.each(['soft', 'hard'] as const)(
  'after any sequence of pages and deletions the counters equal a count (%s)',
  async (deletes) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 18 }), async (steps) => {
        const account = await newAccount({ deletes });
        await account.observe('lists', itemsWith('list_id', LISTS.map(Number)));
        for (const list of LISTS) {
          await account.observe('list_items', itemsWith('id', [0, 1, 2, 3, 4]), { parent: list });
        }
        for (const taken of steps) {
          await take(account, taken);
          expect(await wrongCounters(account)).toEqual([]);
        }
        const user = account.fence.userId;
        // The brake blocks all proven deletions or none.
        const blocked = await account.query<{ held: string; proven: string }>(`
        select c.held_deletions as held, (
          select count(*) from mirror_sync.candidate as k
          where k._user_id = c._user_id and k.collection = c.collection and k.proven_at is not null) as proven
        from mirror._collections as c where c._user_id = ${user}`);
        for (const each of blocked) expect(['0', each.proven]).toContain(each.held);
        // A deleted list has neither live items nor suspected ones.
        expect(
          await account.query(`
          select s.parent from mirror_sync.scope as s where s._user_id = ${user} and s.gone_at is not null
            and (s.live_rows <> 0 or exists (
              select from mirror_sync.candidate as c where c._user_id = ${user} and c.parent = s.parent))`),
        ).toEqual([]);
        // One list is left, with one item.
        await account.age(account.gracePeriodMs);
        await account.observe('lists', itemsWith('list_id', [1]));
        await account.observe('list_items', itemsWith('id', [0]), { parent: '1' });
        await deleteAllBut(account, 'lists', itemsWith('list_id', [1]), { accept: true });
        const left = itemsWith('id', [0]);
        await deleteAllBut(account, 'list_items', left, { parent: '1', accept: true });
        expect(await wrongCounters(account)).toEqual([]);
        const live = await account.rowsOf(
          'collection, live_rows',
          'mirror.freshness',
          `and collection ~ 'list' order by 1`,
        );
        expect(live).toEqual(['list_items 1', 'lists 1']);
        // A deleted list comes back.
        await account.age(account.gracePeriodMs);
        await account.observe('lists', itemsWith('list_id', [1, 2]));
        expect(await wrongCounters(account)).toEqual([]);
      }),
      { numRuns: runs(4, 12) },
    );
  },
);
