import { askFor } from './ladder.ts';
import type { ScopeMemory } from './memory/memory.ts';
import { newReading } from './reading.ts';
import type { FullWalk, Step } from './walk.ts';

/**
 * A full walk's state as stored with every page: only what can't be told from the rest, since its size is the
 * write-ahead log of an unchanged page (some 150 bytes).
 */
export interface Checkpoint {
  readonly began: number;
  /** Milliseconds from `began` to the answer of the page with `first`. */
  readonly took: number;
  readonly first: string | null;
  readonly recent: readonly string[];
  readonly pages: number;
  readonly items: number;
  /** What differs from a walk that simply goes on after the last of `recent`. */
  readonly off?: Partial<FullWalk>;
}

export function checkpoint(walk: FullWalk): Checkpoint {
  const { began, firstAt, first, recent, pages, items } = walk;
  const plain: FullWalk = { ...walk, ...onward(recent) };
  const names = [
    'cursor',
    'token',
    'back',
    'maybeLast',
    'seek',
    'rung',
    'restarts',
    'trying',
    'empties',
    'again',
    'keyless',
    'agedMs',
  ] as const;
  const off = Object.fromEntries(
    names.filter((name) => walk[name] !== plain[name]).map((name) => [name, walk[name]]),
  );
  const stored = { began, took: firstAt - began, first, recent, pages, items };
  return Object.keys(off).length === 0 ? stored : { ...stored, off };
}

/**
 * Continues a full walk at its checkpoint. At most two requests are repeated: the page that was being written, and
 * the one under way.
 */
export function resumeFull(memory: ScopeMemory, stored: Checkpoint): Step<FullWalk> {
  const { began, took, first, recent, pages, items, off } = stored;
  const walk: FullWalk = {
    ...newReading(began),
    ...onward(recent),
    firstAt: began + took,
    first,
    recent,
    pages,
    items,
    ...off,
    kind: 'full',
    resumed: true,
    liveRows: memory.rows,
  };
  return { walk, memory, ask: askFor(walk, memory) };
}

/** A walk that goes on after the last of `recent`. */
function onward(recent: readonly string[]): Partial<FullWalk> & Pick<FullWalk, 'cursor'> {
  return {
    cursor: recent.at(-1) ?? null,
    token: false,
    back: undefined,
    maybeLast: false,
    seek: 0,
    rung: 0,
    empties: 0,
    again: null,
    keyless: null,
    restarts: 0,
    trying: undefined,
    agedMs: 0,
  };
}
