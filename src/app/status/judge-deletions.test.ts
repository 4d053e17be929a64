import { describe, expect, it } from 'vitest';
import { AT, before, sampleCollection, sampleReport } from '../../../test/support/processes/status-report.ts';
import type { MissedRows } from '../../db/status/missed-rows.ts';
import type { WaitingDeletion } from '../../model/status/waiting-deletion.ts';
import { judgeDeletions, refusedDeletions } from './judge-deletions.ts';

const { processes } = sampleReport();
const GRACE_MS = 60_000;
const NEXT_FULL = before(-3_600);

const missed = (changes: Partial<MissedRows> = {}): MissedRows => ({
  userId: '42',
  collection: 'lists',
  kind: 'snapshot',
  keyless: false,
  walking: false,
  rows: 2,
  since: new Date(before(20)),
  latest: new Date(before(10)),
  examples: ['1', '2'],
  why: null,
  ...changes,
});

interface World {
  readonly heldDeletions?: number;
  readonly nextFullAt?: string | null;
  readonly running?: boolean;
}

function judge(all: readonly MissedRows[], world: World = {}): WaitingDeletion[] {
  const { heldDeletions = 0, nextFullAt = NEXT_FULL, running = true } = world;
  const collections = [sampleCollection({ collection: 'lists', liveRows: 100, heldDeletions, nextFullAt })];
  const stored = { missed: all, now: new Date(AT), processes: running ? processes : [] };
  return judgeDeletions([{ userId: '42', state: 'active', collections }], stored, GRACE_MS);
}

const OLD = { since: new Date(before(900)), latest: new Date(before(600)) };

describe('why a row that looks deleted is still there', () => {
  it.each([
    [{ kind: 'proven' }, { heldDeletions: 2 }, 'brake', null],
    [{ kind: 'proven' }, {}, 'proven', null],
    [{ kind: 'refused', why: 'a foreign key' }, { heldDeletions: 2 }, 'refused', null],
    [{ kind: 'snapshot' }, {}, 'second_proof', before(-50)],
    [{ kind: 'interval' }, {}, 'second_proof', before(-50)],
    [{ kind: 'interval', walking: true }, {}, 'walk_under_way', null],
    [{ kind: 'snapshot', walking: true }, {}, 'second_proof', before(-50)],
    [{ kind: 'snapshot', ...OLD }, {}, 'full_walk', NEXT_FULL],
    [{ kind: 'pair', ...OLD }, {}, 'equal_walks', NEXT_FULL],
    [{ kind: 'snapshot', keyless: true }, {}, 'item_without_id', null],
    // Only the page on which that item stands proves nothing: the others may.
    [{ kind: 'interval', keyless: true }, {}, 'second_proof', before(-50)],
    [{ kind: 'interval', keyless: true, ...OLD }, {}, 'item_without_id', null],
    [{ kind: 'pair', keyless: true }, {}, 'item_without_id', null],
    [{ kind: 'returned', keyless: true }, {}, 'second_sighting', null],
  ] as const)('%j, %j: %s', (rows, world, cause, due) => {
    expect(judge([missed(rows)], world)).toEqual([
      expect.objectContaining({ cause, due, userId: '42', collection: 'lists', rows: 2, liveRows: 100 }),
    ]);
  });

  it('is told once for each cause, what needs a person first', () => {
    const found = judge(
      [
        missed({ kind: 'pair' }),
        missed({ kind: 'snapshot', ...OLD, rows: 3, examples: ['3', '4', '5'] }),
        missed({ kind: 'interval', ...OLD, rows: 4, since: new Date(before(5_000)), examples: ['6'] }),
        missed({ kind: 'proven', rows: 40 }),
      ],
      { heldDeletions: 40 },
    );
    expect(found.map(({ cause, rows, since }) => [cause, rows, since])).toEqual([
      ['brake', 40, before(20)],
      ['full_walk', 7, before(5_000)],
      ['equal_walks', 2, before(20)],
    ]);
    expect(found[1]?.examples).toEqual(['3', '4', '5', '6']);
  });

  it('is a problem where Postgres refuses it: named by keys, with what keeps it and the remedy', () => {
    const why = 'violates foreign key constraint "note_fkey" on table "note" (23503)';
    const rows = missed({ kind: 'refused', rows: 7, why });
    expect(refusedDeletions([missed({ kind: 'proven' }), rows])).toEqual([
      expect.objectContaining({
        cause: 'deletions_refused',
        what: `Postgres refuses to delete rows of lists that are gone: ${why}`,
        where: '42/lists (7 rows: 1, 2, …)',
        remedy: expect.stringMatching(
          /rows of another table that refer to them.*sync lists --full$/,
        ) as string,
      }),
    ]);
    expect(judge([rows], { running: false })[0]).toMatchObject({
      due: null,
      remedy: expect.any(String) as string,
    });
  });

  it('is bounded, whatever many accounts there are', () => {
    const users = Array.from({ length: 150 }, (_, index) => String(index));
    const collections = [sampleCollection({ collection: 'lists' })];
    const accounts = users.map((userId) => ({ userId, state: 'active' as const, collections }));
    const all = users.map((userId, index) => missed({ userId, kind: index === 149 ? 'snapshot' : 'pair' }));
    const found = judgeDeletions(accounts, { missed: all, now: new Date(AT), processes }, GRACE_MS);
    expect([found.length, found[0]?.cause]).toEqual([100, 'second_proof']);
  });

  it('names the command where nothing decides by itself', () => {
    expect(judge([missed({ kind: 'proven' })], { heldDeletions: 2 })[0]?.remedy).toContain(
      'research-mirror sync lists --full --accept-deletions',
    );
    expect(judge([missed({ kind: 'pair' })])[0]?.remedy).toBeNull();
    const [never] = judge([missed({ kind: 'pair' })], { nextFullAt: null });
    expect(never).toMatchObject({ due: null, remedy: 'research-mirror sync lists --full' });
    expect(judge([missed()], { running: false })[0]).toMatchObject({
      due: null,
      byItself: 'nothing: no daemon mirrors this collection now',
    });
  });
});
