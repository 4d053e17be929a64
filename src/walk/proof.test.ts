import { describe, expect, it } from 'vitest';
import { newMemory, type ScopeMemory } from './memory.ts';
import { proofFor, proofOf, judgePage } from './proof.ts';
import { newReading, type Reading } from './reading.ts';
import { beginConfirm, beginRefresh } from './refresh.ts';
import { beginFull } from './full.ts';
import { beginPoll } from './poll.ts';
import fc from 'fast-check';
import { NO_SUSPECTS, type SuspectedDeletion, type SuspectKind } from '../model/absence.ts';

const EVIDENCE = { ...newMemory('bigint').evidence, direction: 'falling', inOrder: 20, inPlace: 3 } as const;
const TRUSTED: ScopeMemory = { ...newMemory('bigint'), evidence: EVIDENCE };
const USABLE: ScopeMemory = { ...TRUSTED, evidence: { ...EVIDENCE, inPlace: 2 } };
const TOP = newReading(0);
const TOKEN = { ...TOP, cursor: 'x', token: true };
const INTERVAL = { kind: 'interval', direction: 'falling', after: '9', through: '7' } as const;
const SNAPSHOT = { kind: 'snapshot' } as const;

/** What a page is, of a walk that trusts its order; it stands behind row 9. */
const PAGE = {
  asked: { ...TOP, cursor: '9', recent: ['9'] } as Reading,
  memory: TRUSTED,
  keys: ['8', '7'] as readonly (string | undefined)[],
  accepted: true,
  fromStart: false,
  snapshot: false,
  provenEnd: false,
};

function proof(parts: Partial<typeof PAGE> = {}) {
  const { asked, memory, keys, ...page } = { ...PAGE, ...parts };
  return proofOf(asked, memory, keys, page);
}

describe('the proof of a page', () => {
  it.each<[string, Partial<typeof PAGE>, object | null]>([
    ['between its cursor and its last item', {}, INTERVAL],
    ['to the end that it shows', { provenEnd: true }, { ...INTERVAL, through: null }],
    ['from the top', { asked: TOP }, { ...INTERVAL, after: null }],
    ['after the last key read, by a token', { asked: { ...TOKEN, recent: ['9'] } }, INTERVAL],
    ['of the whole list, in any order', { memory: newMemory('text'), snapshot: true }, SNAPSHOT],
    ['of the whole list, also of nothing', { asked: TOP, keys: [], snapshot: true }, SNAPSHOT],
  ])('is %s', (_, parts, expected) => {
    expect(proof(parts)).toEqual(expected);
  });

  it.each<[string, Partial<typeof PAGE>]>([
    ['an order not trusted: one that is only usable', { memory: USABLE }],
    ['a token before the first key', { asked: TOKEN }],
    ['an empty page', { keys: [], provenEnd: true }],
    ['a page that leads nowhere', { accepted: false }],
    ['a page from the start', { fromStart: true }],
    ['a page with an item without usable key', { keys: ['8', undefined, '7'] }],
    ['a snapshot with an item without usable key', { keys: [undefined], snapshot: true }],
  ])('is none from %s', (_, parts) => {
    expect(proof(parts)).toBeNull();
  });

  it('counts as an interval in full and confirming walks only: others do not look where else a row may be', () => {
    const full = beginFull(TRUSTED, { liveRows: 0, now: 0 }).walk;
    const confirm = beginConfirm(TRUSTED, { keys: ['5'], now: 0 }).walk;
    const poll = beginPoll(TRUSTED, { overlapKey: null, now: 0 }).walk;
    const refresh = beginRefresh(TRUSTED, { unfinished: ['5'], now: 0 }).walk;
    expect([full, confirm, poll, refresh].map((walk) => proofFor(walk, INTERVAL))).toEqual([
      INTERVAL,
      { ...INTERVAL, raises: ['5'] },
      null,
      null,
    ]);
    for (const walk of [full, confirm, poll, refresh]) expect(proofFor(walk, SNAPSHOT)).toEqual(SNAPSHOT);
  });
});

const GRACE_PERIOD = 60_000;
const SENT = 1_000_000;

function judged(parts: Partial<Parameters<typeof judgePage>[0]>) {
  return judgePage({
    proof: null,
    contradiction: false,
    sentAt: SENT,
    seen: [],
    deferred: [],
    missing: [],
    suspects: [],
    gracePeriodMs: GRACE_PERIOD,
    ...parts,
  });
}

const suspects = (kind: SuspectKind, at = 0, proven = false): SuspectedDeletion[] => [{ key: '7', kind, at, proven }];
const missing = (changedAt = 0) => [{ key: '7', changedAt }];
const add = (kind: SuspectKind) => ({ ...NO_SUSPECTS, add: [{ key: '7', kind }] });
const PROVEN = { ...NO_SUSPECTS, prove: ['7'] };

const LATE = SENT - GRACE_PERIOD + 1;
const CONTRADICTING = { proof: SNAPSHOT, contradiction: true, suspects: suspects('interval') };

it.each<[string, Partial<Parameters<typeof judgePage>[0]>, object]>([
  ['a missing row', { proof: INTERVAL }, add('interval')],
  ['a suspected row', { proof: INTERVAL, suspects: suspects('interval') }, PROVEN],
  ['one suspected too lately', { proof: SNAPSHOT, suspects: suspects('snapshot', LATE) }, NO_SUSPECTS],
  ['one changed too lately', { proof: SNAPSHOT, missing: missing(LATE) }, NO_SUSPECTS],
  ['one changed the grace period ago', { proof: SNAPSHOT, missing: missing(LATE - 1) }, add('snapshot')],
  ['of a snapshot, in an interval', { proof: INTERVAL, suspects: suspects('snapshot') }, add('interval')],
  ['of an interval, in a snapshot', { proof: SNAPSHOT, suspects: suspects('interval') }, PROVEN],
  ['of an interval, in a snapshot against the order', CONTRADICTING, { ...add('snapshot'), withdrawOrdered: true }],
])('judging a page suspects or proves what it lacks: %s', (_, parts, change) => {
  expect(judged({ missing: missing(), ...parts })).toEqual(change);
});

it('judging a page withdraws the suspicion of every row that was seen, but not by a sighting that was not believed', () => {
  const doubted = suspects('interval', 0, true);
  expect(judged({ seen: ['7', '8'], suspects: doubted }).withdraw).toEqual(['7']);
  expect(judged({ seen: ['7'], deferred: ['7'], suspects: doubted })).toEqual(NO_SUSPECTS);
  expect(judged({ seen: ['7'], deferred: ['7'] })).toEqual(add('returned'));
});

it.each<[readonly string[], SuspectedDeletion[], number?]>([
  [[], suspects('snapshot', SENT + 1), 1_000],
  [['7'], suspects('snapshot', SENT + 1)],
  [['7'], suspects('snapshot', SENT), 1_000],
  [['7'], suspects('returned', SENT + 1), 1_000],
])('judging a page withdraws %j, none by a copy from before the suspicion: %j', (withdraw, doubted, ageMs) => {
  const served = ageMs === undefined ? undefined : { date: undefined, ageMs };
  expect(judged({ seen: ['7'], served, suspects: doubted }).withdraw).toEqual(withdraw);
});

it('judging a page suspects only what a confirming walk was sent for, and proves what is suspected already', () => {
  const rows = ['6', '7', '8'].map((key) => ({ key, changedAt: 0 }));
  const proof = { ...INTERVAL, raises: ['6', '7'] };
  const change = judged({ proof, missing: rows, suspects: suspects('interval') });
  expect(change).toEqual({ ...PROVEN, add: [{ key: '6', kind: 'interval' }] });
});

it('judging a page leaves proven rows as they are while the brake blocks them', () => {
  for (const kind of ['snapshot', 'interval', 'pair'] as const) {
    for (const proof of [SNAPSHOT, INTERVAL])
      expect(judged({ proof, missing: missing(), suspects: suspects(kind, 0, true) })).toEqual(NO_SUSPECTS);
  }
});

it('judging a page proves nothing that was seen or that has no first proof that is old enough, and says one thing of a row', () => {
  const keys = ['1', '2', '3', '4'];
  const kind = fc.constantFrom<SuspectKind>('snapshot', 'interval', 'pair', 'returned');
  const time = fc.integer({ min: SENT - 2 * GRACE_PERIOD, max: SENT });
  const views = fc.record({
    proof: fc.constantFrom(null, SNAPSHOT, INTERVAL, { ...INTERVAL, raises: ['1'] }),
    contradiction: fc.boolean(),
    seen: fc.subarray(keys),
    suspects: fc.uniqueArray(fc.record({ key: fc.constantFrom(...keys), kind, at: time, proven: fc.boolean() }), {
      selector: ({ key }) => key,
    }),
    changes: fc.array(time, { minLength: 4, maxLength: 4 }),
    deferred: fc.subarray(keys),
  });
  fc.assert(
    fc.property(views, ({ seen, changes, deferred, ...rest }) => {
      const missing = keys
        .map((key, i) => ({ key, changedAt: changes[i] ?? 0 }))
        .filter(({ key }) => !seen.includes(key));
      const unbelieved = deferred.filter((key) => seen.includes(key));
      const change = judged({ ...rest, seen, deferred: unbelieved, missing });
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
