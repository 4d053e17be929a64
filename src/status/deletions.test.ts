import { expect, it } from 'vitest';
import { before, sampleCollection, sampleReport } from '../../test/support/processes/status-report.ts';
import { DELETION_CAUSES } from './status-report.ts';
import { type SuspectedRows, waitingDeletions } from './waiting.ts';
import { judge } from './problems.ts';

const NEXT_FULL = before(-3_600);
const BRAKE = 'research-mirror sync lists --full --accept-deletions';

const suspected = (cause: SuspectedRows['cause'], changes: Partial<SuspectedRows> = {}): SuspectedRows => ({
  userId: '42',
  collection: 'lists',
  cause,
  rows: 2,
  since: new Date(before(20)),
  latest: new Date(before(10)),
  examples: ['1', '2'],
  why: null,
  ...changes,
});

function told(suspects: readonly SuspectedRows[], nextFullAt: string | null = NEXT_FULL, running = true) {
  const collections = [sampleCollection({ collection: 'lists', liveRows: 100, nextFullAt })];
  const userIds = new Set(suspects.map(({ userId }) => userId));
  const accounts = [...userIds].map((userId) => ({ userId, state: 'active' as const, collections }));
  return waitingDeletions(accounts, suspects, running, 60_000);
}

it.each([
  ['brake', null, /the brake holds them/, expect.stringContaining(BRAKE)],
  ['refused', null, /Postgres refuses/, expect.any(String)],
  ['item_without_id', null, /an item without a usable ID/, expect.anything()],
  ['second_proof', before(-50), /two readings/, null],
  ['full_walk', NEXT_FULL, /only a full walk/, null],
] as const)('a deletion that waits says why: %s: due %s', (cause, due, what, remedy) => {
  const of = { userId: '42', collection: 'lists', rows: 2, liveRows: 100, since: before(20) } as const;
  expect(told([suspected(cause)])).toMatchObject([
    { ...of, cause, due, what: expect.stringMatching(what) as string, remedy: remedy as unknown },
  ]);
});

it('a deletion that waits names the command if nothing decides by itself', () => {
  const never = { due: null, remedy: 'run "research-mirror sync lists --full"' };
  expect(told([suspected('full_walk')], null)).toMatchObject([never]);
  const nobody = { due: null, byItself: 'nothing, because no daemon is mirroring this collection' };
  expect(told([suspected('second_proof')], NEXT_FULL, false)).toMatchObject([nobody]);
});

it('a deletion that waits comes first if it needs a person, and the list is bounded for many accounts', () => {
  const causes = DELETION_CAUSES.map((cause) => suspected(cause)).toReversed();
  const first = ['refused', 'brake', 'item_without_id', 'second_proof', 'full_walk'];
  expect(told(causes).map(({ cause }) => cause)).toEqual(first);
  const many = Array.from({ length: 150 }, (_, index) =>
    suspected(index === 149 ? 'second_proof' : 'full_walk', { userId: String(index) }),
  );
  const found = told(many);
  expect([found.length, found[0]?.cause]).toEqual([100, 'second_proof']);
});

it('a deletion that waits is a problem if Postgres refuses it: with keys, reason and remedy', () => {
  const why = 'violates foreign key constraint "note_fkey" on table "note" (23503)';
  const deletions = told([suspected('brake'), suspected('refused', { rows: 7, why })]);
  expect(judge(sampleReport({ deletions })).problems).toMatchObject([
    {
      cause: 'deletions_refused',
      what: `Postgres refuses to delete rows of lists that are gone: ${why}`,
      affects: ['42/lists (7 rows: 1, 2, …)'],
      remedy: expect.stringMatching(/rows of another table that refer to them.*sync lists --full"$/) as string,
    },
  ]);
});
