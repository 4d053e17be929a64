import { stepConfirm, refreshAfter, stepRefresh } from './refresh.ts';
import { fullFromTop, stepFull, withFullBegun } from './full.ts';
import type { ScopeMemory } from './memory.ts';
import { NOWHERE, takePage, type WalkedPage } from './take-page.ts';
import { pollFromTop, stepPoll } from './poll.ts';
import { giveUp, goOn, isFew, withFewerItems, withLowerLimit } from './checkpoint.ts';
import { proofFor } from './proof.ts';
import type { Keyless } from './reading.ts';
import type { WalkAnswer, Step, Walk } from './walk.ts';

/**
 * The next step of a walk: takes an answer and returns the next request. Every walk ends, whatever the service answers
 * (docs/design/walks.md, "The walks").
 */
export function step<W extends Walk>(walk: W, memory: ScopeMemory, answer: WalkAnswer, now: number): Step<W>;
export function step(walk: Walk, memory: ScopeMemory, answer: WalkAnswer, now: number): Step {
  if (answer.type === 'predecessor') return goAfter(walk, memory, answer.key);
  if (answer.type === 'page') {
    const agedMs = Math.max(walk.agedMs, answer.ageMs ?? 0);
    return dispatch({ ...walk, agedMs }, memory, answer, now);
  }
  if (answer.type === 'too-large') {
    if (walk.keyless !== null) return withFewerBehind(walk, memory, walk.keyless);
    const fewer = withFewerItems(walk, memory);
    if (fewer !== null) return goOn(walk, fewer);
    return giveUp(walk, memory, 'is too large for memory, even with a single item');
  }
  if (isFew(walk, memory) && REFUSES_LIMIT.has(answer.status)) {
    const next = { ...walk, few: 'in-full' as const };
    return goOn(next, memory);
  }
  const lower = withLowerLimit(walk, memory, answer.status);
  if (lower !== null) return goOn(lower, memory);
  const why = `was refused: ${answer.status} ${answer.message}`.trimEnd();
  if (walk.cursor === null) return giveUp(walk, memory, why, answer.status);
  const ofCursor = REFUSES_CURSOR.has(answer.status);
  const known = ofCursor ? afterRefusal(walk, memory) : memory;
  return dispatch(walk, known, { why, refused: ofCursor }, now);
}

/** Statuses with which a service may refuse a cursor. */
const REFUSES_CURSOR: ReadonlySet<number> = new Set([400, 404, 410, 422]);

/** Statuses with which a service may refuse a `limit` or a cursor. */
const REFUSES_LIMIT: ReadonlySet<number> = new Set([400, 422]);

type NoPage = Pick<WalkedPage<Walk>, 'why' | 'refused'>;

/** Passes an answer to the rules of the walk's kind. */
function dispatch(
  walk: Walk,
  memory: ScopeMemory,
  answer: NoPage | Extract<WalkAnswer, { type: 'page' }>,
  now: number,
): Step {
  const go = <R extends Walk>(reading: R, judge: (taken: WalkedPage<R>) => Step): Step => {
    if ('why' in answer) return judge(stuckWithoutPage(reading, memory, answer));
    const begun = reading.kind === 'full' ? withFullBegun(reading, memory) : memory;
    const taken = takePage(reading, begun, answer, now);
    const { contradiction, place } = taken;
    if (isTooGood(reading, memory, taken)) {
      const { pages, items } = taken.reading;
      const next = { ...reading, few: 'in-full' as const, pages, items };
      return { ...goOn(next, taken.memory), page: { proof: null, contradiction, place: NOWHERE } };
    }
    return { ...judge(taken), page: { proof: proofFor(walk, taken.proof), contradiction, place } };
  };
  if (walk.kind === 'poll') return go(walk, (taken) => stepPoll(walk, taken, now));
  if (walk.kind === 'refresh') return go(walk, (taken) => stepRefresh(walk, taken));
  if (walk.kind === 'confirm') return go(walk, (taken) => stepConfirm(walk, taken, now));
  return go(walk, (taken) => stepFull(walk, taken, now));
}

/**
 * Whether a small page from the top of a long list claims to be all of it: too strong a proof of absence for a page
 * that was not meant as one.
 */
function isTooGood(asked: Walk, memory: ScopeMemory, taken: WalkedPage<Walk>): boolean {
  const isTop = asked.cursor === null && isFew(asked, memory);
  return isTop && taken.verdict !== 'on' && !taken.contradiction;
}

function stuckWithoutPage<R extends Walk>(walk: R, memory: ScopeMemory, noPage: NoPage): WalkedPage<R> {
  const reading = { ...walk, trying: undefined, keyless: null };
  const nothing = { snapshot: false, contradiction: false, proof: null, place: NOWHERE };
  return { reading, memory, verdict: 'stuck', ...noPage, ...nothing };
}

/** A page is too large and its first items have no usable key: the walk needs them and at least one more. */
function withFewerBehind(walk: Walk, memory: ScopeMemory, { items, ask }: Keyless): Step {
  if (ask > items + 1) {
    const next = { ...walk, keyless: { items, ask: items + 1 } };
    return goOn(next, memory);
  }
  const first = items === 1 ? 'its first item has' : `its first ${items} items have`;
  const why = `is too large for memory: ${first} no usable cursor ID, and the next item is needed`;
  return giveUp(walk, memory, why);
}

/** A service that offers cursors and refuses an item's ID accepts its own only. */
function afterRefusal({ token }: Walk, memory: ScopeMemory): ScopeMemory {
  return token || memory.cursors !== 'offered' ? memory : { ...memory, cursors: 'offered-only' };
}

/** Continues after the stored row that was looked up; null: from the top. */
function goAfter(walk: Walk, memory: ScopeMemory, key: string | null): Step {
  if (walk.seek === 0) throw new RangeError('no stored row was asked for');
  if (walk.kind === 'refresh' || walk.kind === 'confirm') return refreshAfter(walk, memory, key);
  if (key === null && walk.rung > 0) {
    const why = 'led no further, and neither did any earlier row';
    return walk.kind === 'poll' ? pollFromTop(walk, memory, why) : fullFromTop(walk, memory, why);
  }
  const next = { ...walk, seek: 0, cursor: key };
  return goOn(next, memory);
}
