import { scratchKeys } from '@research-mirror/runtime/testing/scratch-keys';
import { describe, expect, it } from 'vitest';
import { page, refused } from '../../test/support/walks/walk-steps.ts';
import type { WalkAnswer, FullWalk, Step } from '../walk/walk.ts';
import { beginFull } from '../walk/full.ts';
import { step } from '../walk/step.ts';
import { ScopeSession } from './scope-session.ts';
import { WalkProofs } from './walk-proofs.ts';

const DEFAULTS = {
  liveRows: 5,
  fullAt: new Date(0) as Date | undefined,
  resumed: false,
  startedAt: 0,
  trusted: false,
};
const WRITTEN = {
  sentAt: new Date(1000),
  judged: true,
  raised: false,
  proven: false,
  overlooks: false,
  complete: false,
};

/** Plays answers to a full walk of a scope; `how` overrides the defaults. */
function played(answers: readonly WalkAnswer[], how: Partial<typeof DEFAULTS & typeof WRITTEN> = {}) {
  const { liveRows, fullAt, resumed, startedAt, trusted, ...wrote } = { ...DEFAULTS, ...how };
  const scope = { userId: '7', collection: 'research_jobs', parent: '' } as const;
  const stored = { scope, memory: {}, fullWalk: undefined, fullAt, lastObs: 0 };
  const session = new ScopeSession(stored as never, 'bigint');
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
    const came = answer.type === 'page' ? { items, hasMore: answer.hasMore, nextCursor: undefined } : undefined;
    proofs.pageCame(at.walk, came, keys);
    const end = at.ask.type === 'end' ? at.ask : undefined;
    proofs.pageWritten(at.walk, end, at.page?.proof ?? null, { ...WRITTEN, ...wrote });
  }
  expect(at.ask).toMatchObject({ type: 'end', outcome: 'complete' });
  return { whole: proofs.whole, reading: proofs.reading, session, walk: at.walk };
}

describe('a full walk', () => {
  const pages = [page(['9', '4'], true), page(['8', '2'], false)];
  const UNJUDGED = { judged: false };

  it('proves that all is read as of its first request', () => {
    const { whole, reading, session } = played(pages);
    expect(whole).toMatchObject({ began: new Date(1000), conclusive: true });
    expect([session.whole, reading]).not.toContain(undefined);
  });

  it('counts from its beginning if it was resumed, however long it then waited for a slot', () => {
    // Begun at 0; this run of it began at 400, and its first request was sent at 1000.
    expect(played(pages, { resumed: true, startedAt: 400 }).whole?.began).toEqual(new Date(0));
  });

  it('is conclusive on a first load and keeps no keys: no row can be missing', () => {
    const { whole, reading, session } = played(pages, { ...UNJUDGED, liveRows: 0, fullAt: undefined });
    expect(whole?.conclusive).toBe(true);
    expect([session.whole, reading]).toEqual([undefined, undefined]);
  });

  it('proves nothing about rows beyond its last item if the page does not show that nothing follows', () => {
    const conclusive = (answers: readonly WalkAnswer[]): boolean | undefined =>
      played(answers, { ...UNJUDGED, resumed: true, trusted: true }).whole?.conclusive;
    expect(conclusive([page(['9', '8'], true), page(['4', '2'], false)])).toBe(true);
    // Single items: the last one is read once more, and nothing comes after it.
    const [last, empty] = [page(['4'], true), page([], false)];
    expect(conclusive([page(['9'], true), last, empty, last, empty])).toBe(false);
  });

  it('is conclusive after a failed first load only if it judged absences: rows may be gone since', () => {
    const { whole, reading } = played(pages, { ...UNJUDGED, fullAt: undefined });
    expect(whole?.conclusive).toBe(false);
    expect(reading).toBeDefined();
    expect(played(pages, { fullAt: undefined }).whole?.conclusive).toBe(true);
  });

  it('is not conclusive if missing rows came too recently to be suspected', () => {
    expect(played(pages, { overlooks: true }).whole?.conclusive).toBe(false);
  });

  it('proves nothing if it was refused and began again at the top', () => {
    const disordered = page(['9', '4', '7', '3', '6', '5', '1', '2'], true);
    const ladder = Array.from({ length: 6 }, () => refused(404));
    const { whole, reading, session, walk } = played([disordered, ...ladder, ...pages]);
    expect([walk.restarts, whole?.conclusive]).toEqual([1, false]);
    expect([session.whole, reading]).toEqual([undefined, undefined]);
  });
});
