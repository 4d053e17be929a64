import { describe, expect, it } from 'vitest';
import { newMemory, type ScopeMemory } from './memory.ts';
import { proofFor, proofOf } from './proof.ts';
import { newReading, type Reading } from './reading.ts';
import { beginConfirm, beginRefresh } from './refresh.ts';
import { beginFull } from './full.ts';
import { beginPoll } from './poll.ts';

const EVIDENCE = { ...newMemory('bigint').evidence, direction: 'falling', inOrder: 20, inPlace: 3 } as const;
const TRUSTED: ScopeMemory = { ...newMemory('bigint'), evidence: EVIDENCE };
const TOP = newReading(0);
const TOKEN = { ...TOP, cursor: 'x', token: true };
const INTERVAL = { kind: 'interval', direction: 'falling', after: '9', through: '7' };
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
    ['a token before the first key', { asked: TOKEN }],
    ['an empty page', { keys: [], provenEnd: true }],
    ['a page that leads nowhere', { accepted: false }],
    ['a page from the start', { fromStart: true }],
    ['a page with an item without usable key', { keys: ['8', undefined, '7'] }],
    ['a snapshot with an item without usable key', { keys: [undefined], snapshot: true }],
  ])('is none from %s', (_, parts) => {
    expect(proof(parts)).toBeNull();
  });

  it('is none from an order that is only usable, or an order not trusted', () => {
    expect(proof({ memory: { ...TRUSTED, evidence: { ...EVIDENCE, inPlace: 2 } } })).toBeNull();
  });

  it('counts as an interval in full and confirming walks only: others do not look where else a row may be', () => {
    const interval = proof();
    const full = beginFull(TRUSTED, { liveRows: 0, now: 0 }).walk;
    const confirm = beginConfirm(TRUSTED, { keys: ['5'], now: 0 }).walk;
    const poll = beginPoll(TRUSTED, { overlapKey: null, now: 0 }).walk;
    const refresh = beginRefresh(TRUSTED, { unfinished: ['5'], now: 0 }).walk;
    expect(proofFor(full, interval)).toEqual(interval);
    expect(proofFor(confirm, interval)).toEqual({ ...interval, raises: ['5'] });
    expect([proofFor(poll, interval), proofFor(refresh, interval)]).toEqual([null, null]);
    for (const walk of [full, confirm, poll, refresh]) expect(proofFor(walk, SNAPSHOT)).toEqual(SNAPSHOT);
  });
});
