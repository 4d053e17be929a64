import { describe, expect, it } from 'vitest';
import { newMemory, type ScopeMemory } from '../memory/memory.ts';
import { proofFor, proofOf } from './proof.ts';
import { newReading, type Reading } from '../reading.ts';
import { beginConfirm } from '../kinds/confirm.ts';
import { beginFull } from '../kinds/full.ts';
import { beginPoll } from '../kinds/poll.ts';
import { beginRefresh } from '../kinds/refresh.ts';

const EVIDENCE = {
  direction: 'falling',
  inOrder: 20,
  inPlace: 3,
  fromStart: false,
  doubt: false,
  contradicted: false,
} as const;
const TRUSTED: ScopeMemory = { ...newMemory('bigint'), evidence: EVIDENCE };
const TOP = newReading(0);

/** A page behind row 9. */
function proofBy({
  asked = { ...TOP, cursor: '9', recent: ['9'] } as Reading,
  memory = TRUSTED,
  keys = ['8', '7'] as readonly (string | undefined)[],
  accepted = true,
  fromStart = false,
  snapshot = false,
  provenEnd = false,
}) {
  return proofOf(asked, memory, keys, { accepted, fromStart, snapshot, provenEnd });
}

describe('the proof of a page', () => {
  it('is the interval between its cursor and its last item, or the end that it shows', () => {
    const interval = { kind: 'interval', direction: 'falling' };
    expect(proofBy({})).toEqual({ ...interval, after: '9', through: '7' });
    expect(proofBy({ provenEnd: true })).toEqual({ ...interval, after: '9', through: null });
    expect(proofBy({ asked: TOP })).toEqual({ ...interval, after: null, through: '7' });
  });

  it('begins after the last key that was read where the cursor is a token, and is none before the first', () => {
    const asked = { ...TOP, cursor: 'x', token: true };
    expect(proofBy({ asked: { ...asked, recent: ['9'] } })).toMatchObject({ after: '9' });
    expect(proofBy({ asked })).toBeNull();
  });

  it('is none from an empty page, one that leads nowhere, one from the start, or an order not trusted', () => {
    expect(proofBy({ keys: [], provenEnd: true })).toBeNull();
    expect(proofBy({ accepted: false })).toBeNull();
    expect(proofBy({ fromStart: true })).toBeNull();
    const usable = { ...TRUSTED, evidence: { ...EVIDENCE, inPlace: 2 } };
    expect(proofBy({ memory: usable })).toBeNull();
  });

  it('is none where an item has no usable key, of a snapshot either', () => {
    expect(proofBy({ keys: ['8', undefined, '7'] })).toBeNull();
    expect(proofBy({ keys: [undefined], snapshot: true })).toBeNull();
  });

  it('is a snapshot in any order, also of nothing', () => {
    const snapshot = { kind: 'snapshot' };
    expect(proofBy({ memory: newMemory('text'), snapshot: true })).toEqual(snapshot);
    expect(proofBy({ asked: TOP, keys: [], snapshot: true })).toEqual(snapshot);
  });

  it('counts as an interval in full and confirming walks only: others do not look where else a row may be', () => {
    const interval = proofBy({});
    const full = beginFull(TRUSTED, { liveRows: 0, now: 0 }).walk;
    const confirm = beginConfirm(TRUSTED, { keys: ['5'], now: 0 }).walk;
    const poll = beginPoll(TRUSTED, { overlapKey: null, now: 0 }).walk;
    const refresh = beginRefresh(TRUSTED, { unfinished: ['5'], now: 0 }).walk;
    expect(proofFor(full, interval)).toEqual(interval);
    expect(proofFor(confirm, interval)).toEqual({ ...interval, raises: ['5'] });
    expect([proofFor(poll, interval), proofFor(refresh, interval)]).toEqual([null, null]);
    for (const walk of [full, confirm, poll, refresh]) {
      expect(proofFor(walk, { kind: 'snapshot' })).toEqual({ kind: 'snapshot' });
    }
  });
});
