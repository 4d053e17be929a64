import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NO_SUSPECTS, type SuspectedDeletion, type SuspectKind } from '../../model/absence.ts';
import { judgePage, type PageView } from './suspects.ts';

const GRACE_PERIOD = 60_000;
const SENT = 1_000_000;
const SNAPSHOT = { kind: 'snapshot' } as const;
const INTERVAL = { kind: 'interval', direction: 'falling', after: null, through: '1' } as const;

function view(parts: Partial<PageView>): PageView {
  return {
    proof: null,
    contradiction: false,
    sentAt: SENT,
    seen: [],
    deferred: [],
    missing: [],
    suspects: [],
    gracePeriodMs: GRACE_PERIOD,
    ...parts,
  };
}

function suspect(kind: SuspectKind, at = 0, proven = false): SuspectedDeletion {
  return { key: '7', kind, at, proven };
}

const missing = [{ key: '7', changedAt: 0 }];

describe('judging a page', () => {
  it('makes a first proof of a missing row, a second one of a suspected row', () => {
    expect(judgePage(view({ proof: INTERVAL, missing }))).toEqual({
      ...NO_SUSPECTS,
      add: [{ key: '7', kind: 'interval' }],
    });
    const suspects = [suspect('interval')];
    expect(judgePage(view({ proof: INTERVAL, missing, suspects }))).toEqual({ ...NO_SUSPECTS, prove: ['7'] });
  });

  it('keeps the grace period between two proofs, and between a change and the first', () => {
    const late = SENT - GRACE_PERIOD + 1;
    expect(judgePage(view({ proof: SNAPSHOT, missing, suspects: [suspect('snapshot', late)] }))).toEqual(
      NO_SUSPECTS,
    );
    expect(judgePage(view({ proof: SNAPSHOT, missing: [{ key: '7', changedAt: late }] }))).toEqual(
      NO_SUSPECTS,
    );
    const just = SENT - GRACE_PERIOD;
    expect(judgePage(view({ proof: SNAPSHOT, missing: [{ key: '7', changedAt: just }] })).add).toHaveLength(
      1,
    );
  });

  it('withdraws the suspicion of every row that was seen, but not by a sighting that was not believed', () => {
    const suspects = [suspect('interval', 0, true)];
    expect(judgePage(view({ seen: ['7', '8'], suspects })).withdraw).toEqual(['7']);
    expect(judgePage(view({ seen: ['7'], deferred: ['7'], suspects }))).toEqual(NO_SUSPECTS);
    expect(judgePage(view({ seen: ['7'], deferred: ['7'] })).add).toEqual([{ key: '7', kind: 'returned' }]);
  });

  it('withdraws none by a copy that was made before the row was missing', () => {
    const copy = { seen: ['7'], served: { date: undefined, ageMs: 1_000 } };
    const before = [suspect('snapshot', SENT + 1)];
    expect(judgePage(view({ ...copy, suspects: before }))).toEqual(NO_SUSPECTS);
    expect(judgePage(view({ seen: ['7'], suspects: before })).withdraw).toEqual(['7']);
    expect(judgePage(view({ ...copy, suspects: [suspect('snapshot', SENT)] })).withdraw).toEqual(['7']);
    expect(judgePage(view({ ...copy, suspects: [suspect('returned', SENT + 1)] })).withdraw).toEqual(['7']);
  });

  it('withdraws what depends on an order that the page contradicts, and suspects again what a snapshot lacks', () => {
    const change = judgePage(
      view({ proof: SNAPSHOT, contradiction: true, missing, suspects: [suspect('interval')] }),
    );
    expect(change).toEqual({ ...NO_SUSPECTS, add: [{ key: '7', kind: 'snapshot' }], withdrawOrdered: true });
  });

  it('lets no interval prove what would survive a contradiction', () => {
    const change = judgePage(view({ proof: INTERVAL, missing, suspects: [suspect('snapshot')] }));
    expect(change).toEqual({ ...NO_SUSPECTS, add: [{ key: '7', kind: 'interval' }] });
    expect(judgePage(view({ proof: SNAPSHOT, missing, suspects: [suspect('interval')] })).prove).toEqual([
      '7',
    ]);
  });

  it('suspects only what a confirming walk was sent for, and proves what is suspected already', () => {
    const rows = ['6', '7', '8'].map((key) => ({ key, changedAt: 0 }));
    const suspects = [suspect('interval')];
    expect(judgePage(view({ proof: { ...INTERVAL, raises: ['6', '7'] }, missing: rows, suspects }))).toEqual({
      ...NO_SUSPECTS,
      add: [{ key: '6', kind: 'interval' }],
      prove: ['7'],
    });
  });

  it('leaves proven rows as they are while the brake blocks them', () => {
    for (const kind of ['snapshot', 'interval', 'pair'] as const) {
      for (const proof of [SNAPSHOT, INTERVAL]) {
        const suspects = [suspect(kind, 0, true)];
        expect(judgePage(view({ proof, missing, suspects }))).toEqual(NO_SUSPECTS);
      }
    }
  });

  it('proves nothing that was seen or that has no first proof that is old enough, and says one thing of a row', () => {
    const keys = ['1', '2', '3', '4'];
    const kind = fc.constantFrom<SuspectKind>('snapshot', 'interval', 'pair', 'returned');
    const time = fc.integer({ min: SENT - 2 * GRACE_PERIOD, max: SENT });
    const views = fc.record({
      proof: fc.constantFrom(null, SNAPSHOT, INTERVAL, { ...INTERVAL, raises: ['1'] }),
      contradiction: fc.boolean(),
      seen: fc.subarray(keys),
      suspects: fc.uniqueArray(
        fc.record({
          key: fc.constantFrom(...keys),
          kind,
          at: time,
          proven: fc.boolean(),
        }),
        { selector: ({ key }) => key },
      ),
      changes: fc.array(time, { minLength: 4, maxLength: 4 }),
      deferred: fc.subarray(keys),
    });
    fc.assert(
      fc.property(views, ({ seen, changes, deferred, ...rest }) => {
        const missing = keys
          .map((key, i) => ({ key, changedAt: changes[i] ?? 0 }))
          .filter(({ key }) => !seen.includes(key));
        const unbelieved = deferred.filter((key) => seen.includes(key));
        const change = judgePage(view({ ...rest, seen, deferred: unbelieved, missing }));
        const said = [...change.add.map(({ key }) => key), ...change.prove, ...change.withdraw];
        expect(new Set(said).size).toBe(said.length);
        if (rest.contradiction) expect(change.withdrawOrdered).toBe(true);
        for (const key of change.prove) {
          const first = rest.suspects.find((each) => each.key === key);
          expect(seen).not.toContain(key);
          expect(first?.at).toBeLessThanOrEqual(SENT - GRACE_PERIOD);
          expect(first?.kind).toMatch(/snapshot|interval/);
          expect(rest.contradiction && first?.kind === 'interval').toBe(false);
        }
      }),
      { numRuns: 500 },
    );
  });
});
