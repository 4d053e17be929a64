import type { Item } from '../../model/page.ts';
import { noteWritten, type ScopeMemory } from '../../walk/memory/memory.ts';
import { step } from '../../walk/step.ts';
import type { End, Step } from '../../walk/walk.ts';
import { askPage, type AskOptions } from '../walk-run/ask-page.ts';
import type { ReadingContext } from '../reader/reading-context.ts';

/** A walk that writes nothing. */
export interface QuietReading extends Omit<AskOptions, 'broken'> {
  readonly context: Pick<ReadingContext, 'source' | 'store' | 'clock'>;
}

/**
 * Walks a scope to its end on a copy of the scope's memory: nothing is stored, and the mirror's own walks are not
 * affected.
 * @param onPage gets each page's items; says which of their keys the mirror has
 * @throws what requests throw, except refusals, which the walk judges; the signal's reason
 */
export async function walkQuietly(
  reading: QuietReading,
  begun: Step,
  onPage: (items: readonly Item[]) => Promise<(key: string) => boolean>,
): Promise<{ readonly end: End; readonly memory: ScopeMemory }> {
  const { context, scope, signal } = reading;
  let { walk, memory, ask } = begun;
  while (ask.type !== 'end') {
    signal.throwIfAborted();
    if (ask.type === 'predecessor') {
      const { of, nth, direction } = ask;
      const key = await context.store.predecessor(scope, direction, of, nth);
      ({ walk, memory, ask } = step(walk, memory, { type: 'predecessor', key }, context.clock.now()));
      continue;
    }
    const broken = new AbortController().signal; // a page on the wire is waited for: its slot is spent
    const asked = await askPage(context, ask, { ...reading, broken });
    ({ walk, memory, ask } = step(walk, memory, asked, context.clock.now()));
    const { page } = asked;
    if (page === undefined) continue;
    const isKnown = await onPage(page.items);
    const rows = page.items.flatMap(({ key }) =>
      key === undefined ? [] : [{ key, known: isKnown(key), changed: false }],
    );
    memory = noteWritten(memory, rows);
  }
  return { end: ask, memory };
}
