import { describe, expect, it } from 'vitest';
import { newMemory, type ScopeMemory } from '../memory/memory.ts';
import { proofFor, proofOf, type ProofView } from './proof.ts';
import { newReading } from '../reading.ts';
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

function view(parts: Partial<ProofView>): ProofView {
  return {
    asked: { ...TOP, cursor: '9', recent: ['9'] },
    memory: TRUSTED,
    keys: ['8', '7'],
    accepted: true,
    fromStart: false,
    snapshot: false,
    provenEnd: false,
    ...parts,
  };
}

describe('the proof of a page', () => {
  it('is the interval between its cursor and its last item, or the end that it shows', () => {
    const interval = { kind: 'interval', direction: 'falling' };
    expect(proofOf(view({}))).toEqual({ ...interval, after: '9', through: '7' });
    expect(proofOf(view({ provenEnd: true }))).toEqual({ ...interval, after: '9', through: null });
    expect(proofOf(view({ asked: TOP }))).toEqual({ ...interval, after: null, through: '7' });
  });

  it('begins after the last key that was read where the cursor is a token, and is none before the first', () => {
    const asked = { ...TOP, cursor: 'x', token: true };
    expect(proofOf(view({ asked: { ...asked, recent: ['9'] } }))).toMatchObject({ after: '9' });
    expect(proofOf(view({ asked }))).toBeNull();
  });

  it('is none from an empty page, one that leads nowhere, one from the start, or an order not trusted', () => {
    expect(proofOf(view({ keys: [], provenEnd: true }))).toBeNull();
    expect(proofOf(view({ accepted: false }))).toBeNull();
    expect(proofOf(view({ fromStart: true }))).toBeNull();
    const usable = { ...TRUSTED, evidence: { ...EVIDENCE, inPlace: 2 } };
    expect(proofOf(view({ memory: usable }))).toBeNull();
  });

  it('is none where an item has no usable key, of a snapshot either', () => {
    expect(proofOf(view({ keys: ['8', undefined, '7'] }))).toBeNull();
    expect(proofOf(view({ keys: [undefined], snapshot: true }))).toBeNull();
  });

  it('is a snapshot in any order, also of nothing', () => {
    const snapshot = { kind: 'snapshot' };
    expect(proofOf(view({ memory: newMemory('text'), snapshot: true }))).toEqual(snapshot);
    expect(proofOf(view({ asked: TOP, keys: [], snapshot: true }))).toEqual(snapshot);
  });

  it('counts as an interval in full and confirming walks only: others do not look where else a row may be', () => {
    const interval = proofOf(view({}));
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
