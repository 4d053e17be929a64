import { describe, expect, it } from 'vitest';
import { explain, type Refusal } from './refusal-cause.ts';

const plain: Refusal = {
  limit: 60,
  routeLimit: 60,
  namedAgain: false,
  size: 60,
  used: 20,
  usedOverall: 20,
  foreign: 0,
  blamedForeign: false,
  paced: false,
};

describe('a 429 is explained', () => {
  it('by a lower limit that it names', () => {
    expect(explain({ ...plain, limit: 30 })).toEqual({ kind: 'lower-limit', limit: 30 });
  });

  it('by a limit over all endpoints when it names one that all have reached, and its own group has not', () => {
    const named = { ...plain, limit: 40, used: 20, usedOverall: 40 };
    expect(explain(named)).toEqual({ kind: 'overall-limit', limit: 40 });
    expect(explain({ ...named, usedOverall: 39 })).toEqual({ kind: 'lower-limit', limit: 40 });
  });

  it('by a lower limit of its group where that alone has reached it, unless only 429s name it', () => {
    const named = { ...plain, limit: 12, used: 20, usedOverall: 45 };
    expect(explain(named)).toEqual({ kind: 'lower-limit', limit: 12 });
    expect(explain({ ...named, namedAgain: true })).toEqual({ kind: 'overall-limit', limit: 12 });
  });

  it('by others’ use, once an hour', () => {
    expect(explain({ ...plain, foreign: 3 })).toEqual({ kind: 'foreign-use' });
    expect(explain({ ...plain, foreign: 3, blamedForeign: true })).toEqual({ kind: 'unexplained' });
  });

  it('by the sum over all endpoints when pacing its own group did not help', () => {
    const busy = { ...plain, usedOverall: 50, used: 20 };
    expect(explain(busy)).toEqual({ kind: 'unexplained' });
    expect(explain({ ...busy, paced: true })).toEqual({ kind: 'overall-limit', limit: 49 });
    const withOthers = { ...busy, paced: true, foreign: 3, blamedForeign: true };
    expect(explain(withOthers)).toEqual({ kind: 'unexplained' });
  });

  it('by nothing, when this program kept to what it knew', () => {
    expect(explain(plain)).toEqual({ kind: 'unexplained' });
    expect(explain({ ...plain, limit: undefined, routeLimit: undefined })).toEqual({ kind: 'unexplained' });
  });
});
