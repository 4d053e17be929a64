import type { ScopeMemory } from '../../../src/walk/memory.ts';
import { step } from '../../../src/walk/step.ts';
import type { WalkAnswer, Step } from '../../../src/walk/walk.ts';
import { WalkClient } from './walk-client.ts';
import { WalkSource, type ListVariant } from './walk-source.ts';

export const PAGED: ListVariant = { order: 'falling', cursor: 'keyset', hasMore: 'exact', pageSize: 25 };

/** Memory of a scope of 100 rows in falling order. */
export function usableMemory(): ScopeMemory {
  const client = new WalkClient(new WalkSource(PAGED, 100));
  client.run(client.beginFull(), 10);
  return client.memory;
}

export function page(keys: readonly (string | undefined)[], hasMore?: boolean, nextCursor?: string | null): WalkAnswer {
  return { type: 'page', keys, hasMore, nextCursor };
}

export function refused(status: number): WalkAnswer {
  return { type: 'refused', status, message: 'no' };
}

/** Plays answers to a walk: what it asked, each as `cursor/limit`, `<of#nth` for a lookup, or the outcome. */
export function asks(begun: Step, answers: readonly WalkAnswer[]): string[] {
  let stepped = begun;
  return [
    shown(stepped),
    ...answers.map((answer) => {
      stepped = step(stepped.walk, stepped.memory, answer, 0);
      return shown(stepped);
    }),
  ];
}

export function shown({ ask }: Step): string {
  if (ask.type === 'page') return `${ask.cursor ?? 'top'}/${ask.limit ?? 'none'}`;
  return ask.type === 'predecessor' ? `<${ask.of}#${ask.nth}` : ask.outcome;
}

export function range(from: number, to: number): string[] {
  const length = Math.abs(to - from) + 1;
  return Array.from({ length }, (_, i) => String(from < to ? from + i : from - i));
}
