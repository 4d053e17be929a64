import { scratchKeys } from '@research-mirror/runtime/testing/scratch-keys';
import { describe, expect, it } from 'vitest';
import type { WalkAnswer, FullWalk, Step } from '../../walk/walk.ts';
import { beginFull } from '../../walk/kinds/full.ts';
import { step } from '../../walk/step.ts';
import { NO_ALARMS } from '../../plan/alarms.ts';
import { NOTHING_LEARNT } from '../../plan/learnt-changes.ts';
import { ScopeSession } from '../scope/scope-session.ts';
import { WalkProofs } from './walk-proofs.ts';
import type { WrittenStep } from './write-step.ts';

const scope = { userId: '7', collection: 'research_jobs', parent: '' } as const;
const stored = {
  scope,
  memory: {},
  fullWalk: undefined,
  fullAt: new Date(0),
  lastObs: 0,
  learnt: NOTHING_LEARNT,
  alarms: NO_ALARMS,
};
const written: Omit<WrittenStep, 'outcomes' | 'counts'> = {
  sentAt: new Date(1000),
  judged: true,
  raised: false,
  proven: false,
  overlooks: false,
  complete: false,
};

function page(keys: readonly string[], hasMore: boolean): WalkAnswer {
  return { type: 'page', keys, hasMore };
}

/** Plays answers to a full walk of a scope that was read before. */
function played(
  answers: readonly WalkAnswer[],
  wrote: Partial<typeof written> = {},
  { liveRows, fullAt }: { liveRows: number; fullAt: Date | undefined } = { liveRows: 5, fullAt: new Date(0) },
  { resumed = false, startedAt = 0, trusted = false } = {},
): { proofs: WalkProofs; session: ScopeSession; walk: FullWalk } {
  const session = new ScopeSession({ ...stored, fullAt } as never, 'bigint');
  if (trusted) {
    const evidence = { ...session.memory.evidence, direction: 'falling', inOrder: 20, inPlace: 3 } as const;
    session.memory = { ...session.memory, evidence };
  }
  let at: Step<FullWalk> = beginFull(session.memory, { liveRows, now: 0 });
  at = { ...at, walk: { ...at.walk, resumed } };
  const proofs = new WalkProofs(session, at.walk, new Date(startedAt), scratchKeys);
  for (const answer of answers) {
    at = step(at.walk, at.memory, answer, 0);
    session.memory = at.memory;
    const keys = answer.type === 'page' ? answer.keys.filter((key) => key !== undefined) : [];
    const items = keys.map((key) => ({ source: '{}', state: 'finished' as const, key, problem: undefined }));
    const came =
      answer.type === 'page' ? { items, hasMore: answer.hasMore, nextCursor: undefined } : undefined;
    proofs.pageCame(at.walk, came, keys);
    const end = at.ask.type === 'end' ? at.ask : undefined;
    proofs.pageWritten(at.walk, end, at.page?.proof ?? null, { ...written, ...wrote });
  }
  expect(at.ask).toMatchObject({ type: 'end', outcome: 'complete' });
  return { proofs, session, walk: at.walk };
}

describe('what a full walk proves', () => {
  const pages = [page(['9', '4'], true), page(['8', '2'], false)];

  it('is that all is read as of its first request, where it was read in one go', () => {
    const { proofs, session } = played(pages);
    expect(proofs.whole).toMatchObject({ began: new Date(1000), conclusive: true });
    expect(session.whole).toBeDefined();
    expect(proofs.reading).toBeDefined();
  });

  it('counts from its beginning where it went on from an earlier process, however long it then waited for a slot', () => {
    const before = { liveRows: 5, fullAt: new Date(0) };
    // Begun at 0; this run of it began at 400, and its first request was sent at 1000.
    const { proofs } = played(pages, {}, before, { resumed: true, startedAt: 400 });
    expect(proofs.whole?.began).toEqual(new Date(0));
  });

  it('is all on a first load, and nothing is remembered: there is no row that could be missing', () => {
    const { proofs, session } = played(pages, { judged: false }, { liveRows: 0, fullAt: undefined });
    expect(proofs.whole?.conclusive).toBe(true);
    expect([session.whole, proofs.reading]).toEqual([undefined, undefined]);
  });

  it('is nothing of what may lie beyond its last item, where that does not show that it is the last', () => {
    const conclusive = (answers: readonly WalkAnswer[]): boolean | undefined =>
      played(answers, { judged: false }, undefined, { resumed: true, trusted: true }).proofs.whole
        ?.conclusive;
    expect(conclusive([page(['9', '8'], true), page(['4', '2'], false)])).toBe(true);
    // Single items: the last one is read once more, and nothing comes after it.
    const [last, empty] = [page(['4'], true), page([], false)];
    expect(conclusive([page(['9'], true), last, empty, last, empty])).toBe(false);
  });

  it('is what it judged, where an earlier first load failed: rows that it left may be gone since', () => {
    const before = { liveRows: 5, fullAt: undefined };
    const { proofs } = played(pages, { judged: false }, before);
    expect(proofs.whole?.conclusive).toBe(false);
    expect(proofs.reading).toBeDefined();
    expect(played(pages, {}, before).proofs.whole?.conclusive).toBe(true);
  });

  it('is not all where rows are missing that came too lately to be doubted', () => {
    expect(played(pages, { overlooks: true }).proofs.whole?.conclusive).toBe(false);
  });

  it('is nothing where it was refused and began again at the top: neither as of when, nor half of a pair', () => {
    const refused: WalkAnswer = { type: 'refused', status: 404, message: 'unknown cursor' };
    const { proofs, session, walk } = played([
      page(['9', '4', '7', '3', '6', '5', '1', '2'], true),
      ...Array.from({ length: 6 }, () => refused),
      ...pages,
    ]);
    expect(walk.restarts).toBe(1);
    expect(proofs.whole?.conclusive).toBe(false);
    expect([session.whole, proofs.reading]).toEqual([undefined, undefined]);
  });
});
