import { describe, expect, it } from 'vitest';
import {
  before,
  sampleAccount,
  sampleCollection,
  sampleReport,
} from '../../../test/support/processes/status-report.ts';
import { DELETION_CAUSES, type WaitingDeletion } from '../../model/status/status-report.ts';
import { type SuspectedRows, waitingDeletions } from './deletions.ts';
import { judge } from './problems.ts';

const GRACE_MS = 60_000;
const NEXT_FULL = before(-3_600);

const suspected = (changes: Partial<SuspectedRows> = {}): SuspectedRows => ({
  userId: '42',
  collection: 'lists',
  cause: 'second_proof',
  rows: 2,
  since: new Date(before(20)),
  latest: new Date(before(10)),
  examples: ['1', '2'],
  why: null,
  ...changes,
});

function told(
  suspects: readonly SuspectedRows[],
  { nextFullAt = NEXT_FULL, running = true }: { nextFullAt?: string | null; running?: boolean } = {},
): WaitingDeletion[] {
  const collections = [sampleCollection({ collection: 'lists', liveRows: 100, nextFullAt })];
  return waitingDeletions([{ userId: '42', state: 'active', collections }], suspects, running, GRACE_MS);
}

describe('why a row that looks deleted is still there', () => {
  it.each([
    ['brake', null, /the brake holds them/],
    ['refused', null, /Postgres refuses/],
    ['item_without_id', null, /an item without a usable ID/],
    ['second_proof', before(-50), /two readings/],
    ['full_walk', NEXT_FULL, /only a full walk/],
  ] as const)('%s: due %s', (cause, due, what) => {
    expect(told([suspected({ cause })])).toEqual([
      expect.objectContaining({
        cause,
        due,
        what: expect.stringMatching(what) as string,
        userId: '42',
        collection: 'lists',
        rows: 2,
        liveRows: 100,
        since: before(20),
      }),
    ]);
  });

  it('is told first where it needs a person', () => {
    const all = DELETION_CAUSES.map((cause) => suspected({ cause })).toReversed();
    expect(told(all).map(({ cause }) => cause)).toEqual([
      'refused',
      'brake',
      'item_without_id',
      'second_proof',
      'full_walk',
    ]);
  });

  it('is a problem where Postgres refuses it: named by keys, with what keeps it and the remedy', () => {
    const why = 'violates foreign key constraint "note_fkey" on table "note" (23503)';
    const deletions = told([suspected({ cause: 'brake' }), suspected({ cause: 'refused', rows: 7, why })]);
    expect(judge(sampleReport({ accounts: [sampleAccount()], deletions })).problems).toEqual([
      expect.objectContaining({
        cause: 'deletions_refused',
        what: `Postgres refuses to delete rows of lists that are gone: ${why}`,
        affects: ['42/lists (7 rows: 1, 2, …)'],
        remedy: expect.stringMatching(
          /rows of another table that refer to them.*sync lists --full$/,
        ) as string,
      }),
    ]);
  });

  it('is bounded, whatever many accounts there are', () => {
    const users = Array.from({ length: 150 }, (_, index) => String(index));
    const collections = [sampleCollection({ collection: 'lists' })];
    const accounts = users.map((userId) => ({ userId, state: 'active' as const, collections }));
    const all = users.map((userId, index) =>
      suspected({ userId, cause: index === 149 ? 'second_proof' : 'full_walk' }),
    );
    const found = waitingDeletions(accounts, all, true, GRACE_MS);
    expect([found.length, found[0]?.cause]).toEqual([100, 'second_proof']);
  });

  it('names the command where nothing decides by itself', () => {
    expect(told([suspected({ cause: 'brake' })])[0]?.remedy).toContain(
      'research-mirror sync lists --full --accept-deletions',
    );
    const walk = suspected({ cause: 'full_walk' });
    expect(told([walk])[0]?.remedy).toBeNull();
    expect(told([walk], { nextFullAt: null })[0]).toMatchObject({
      due: null,
      remedy: 'research-mirror sync lists --full',
    });
    expect(told([suspected()], { running: false })[0]).toMatchObject({
      due: null,
      byItself: 'nothing: no daemon mirrors this collection now',
    });
  });
});
