import { describe, expect, it } from 'vitest';
import { type Effect, judge, type SubmissionRow } from './judge.ts';

const NONE = {
  queued: new Map<string, string>(),
  cancelled: new Set<string>(),
  rolledBack: new Set<string>(),
};

const row = (state: string, rest: Partial<SubmissionRow> = {}): SubmissionRow => ({
  id: '1',
  marker: 'm1',
  state,
  requestId: 'key-1',
  responseStatus: state === 'accepted' ? 201 : null,
  ...rest,
});
const effect = (rest: Partial<Effect> = {}): Effect => ({ marker: 'm1', idempotencyKey: 'key-1', ...rest });
const kinds = (...args: Parameters<typeof judge>): string[] => judge(...args).map(({ kind }) => kind);

describe('the judge of submissions', () => {
  it.each([
    ['accepted', 1],
    ['rejected', 0],
    ['unknown', 0],
    ['unknown', 1],
    ['cancelled', 0],
  ])('has nothing against %s with %i effects', (state, effects) => {
    expect(
      judge(
        [row(state)],
        Array.from({ length: effects }, () => effect()),
        NONE,
      ),
    ).toEqual([]);
  });

  it.each([
    ['accepted', 0],
    ['rejected', 1],
    ['cancelled', 1],
  ])('finds a state that is false: %s with %i effects', (state, effects) => {
    expect(
      kinds(
        [row(state)],
        Array.from({ length: effects }, () => effect()),
        NONE,
      ),
    ).toEqual(['false']);
  });

  it('finds what took effect twice, whatever the state', () => {
    for (const state of ['accepted', 'unknown', 'rejected'])
      expect(kinds([row(state)], [effect(), effect()], NONE)).toEqual(['twice']);
  });

  it('finds what never ends, and what has no row', () => {
    expect(kinds([row('queued')], [], NONE)).toEqual(['lost']);
    expect(kinds([row('sending')], [], NONE)).toEqual(['lost']);
    expect(kinds([], [], { ...NONE, queued: new Map([['1', 'm1']]) })).toEqual(['lost']);
  });

  it('finds what was cancelled or rolled back and took effect all the same', () => {
    expect(kinds([row('accepted')], [effect()], { ...NONE, cancelled: new Set(['1']) })).toEqual(['false']);
    expect(kinds([], [effect()], { ...NONE, rolledBack: new Set(['m1']) })).toEqual(['false']);
    expect(kinds([], [effect()], NONE)).toEqual(['false']);
  });

  it('finds another Idempotency-Key, and an acceptance without a 2xx', () => {
    expect(kinds([row('accepted')], [effect({ idempotencyKey: 'another' })], NONE)).toEqual(['claim']);
    expect(kinds([row('accepted', { responseStatus: 500 })], [effect()], NONE)).toEqual(['claim']);
  });
});
