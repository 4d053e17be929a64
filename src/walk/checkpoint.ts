import { goOn } from './ladder.ts';
import type { ScopeMemory } from './memory/memory.ts';
import { newReading, type Reading } from './reading.ts';
import type { FullWalk, Step } from './walk.ts';

/**
 * A full walk's state as stored with every page. It leaves out what follows from the rest: its size (some 150 bytes)
 * is the write-ahead log of an unchanged page.
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

/** What may differ from a walk that simply goes on after the last of `recent`. */
const OFF = [
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

export function checkpoint(walk: FullWalk): Checkpoint {
  const { began, firstAt, first, recent, pages, items } = walk;
  const plain = onward(began, recent);
  const off = OFF.filter((name) => walk[name] !== plain[name]).map((name) => [name, walk[name]]);
  const stored = { began, took: firstAt - began, first, recent, pages, items };
  return off.length === 0 ? stored : { ...stored, off: Object.fromEntries(off) };
}

/**
 * Continues a full walk at its checkpoint. At most two requests are repeated: the page that was being written, and
 * the one under way.
 */
export function resumeFull(memory: ScopeMemory, stored: Checkpoint): Step<FullWalk> {
  const { began, took, first, recent, pages, items, off } = stored;
  const read = { firstAt: began + took, first, recent, pages, items, ...off };
  const walk = {
    ...onward(began, recent),
    ...read,
    kind: 'full',
    resumed: true,
    liveRows: memory.rows,
  } as const;
  return goOn(walk, memory);
}

function onward(began: number, recent: readonly string[]): Reading {
  return { ...newReading(began), cursor: recent.at(-1) ?? null };
}
