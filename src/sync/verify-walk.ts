import type { Exchange } from '../api/api.ts';
import type { Priority } from '../budget/priorities.ts';
import type { ListCollection, Scope } from '../model/collections.ts';
import { RequestRefused } from '../model/errors.ts';
import type { Item, Page } from '../model/page.ts';
import { messageOf } from '../runtime/message.ts';
import type { ScopeMemory } from '../walk/memory.ts';
import { noteWritten } from '../walk/note-written.ts';
import { step } from '../walk/step.ts';
import type { Answer, Ask, End, Step } from '../walk/walk.ts';
import type { Reader } from './reader.ts';

/** What a walk that writes nothing takes. */
export interface QuietReading {
  readonly reader: Pick<Reader, 'source' | 'store' | 'clock'>;
  readonly scope: Scope;
  readonly collection: ListCollection;
  readonly priority: Priority;
  /** Aborted: no further request. */
  readonly signal: AbortSignal;
  readonly onExchange: (exchange: Exchange) => void;
}

/**
 * Runs a walk over a scope to its end over a copy of the scope's memory: nothing of it is stored, and the mirror's own
 * walks know nothing of it.
 * @param onPage takes each page's items; says which of their keys the mirror has
 * @throws what requests throw, refusals apart: those are the walk's to judge; the signal's reason
 */
export async function walkQuietly(
  reading: QuietReading,
  begun: Step,
  onPage: (items: readonly Item[]) => Promise<(key: string) => boolean>,
): Promise<{ readonly end: End; readonly memory: ScopeMemory }> {
  const { reader, scope, signal } = reading;
  let { walk, memory, ask } = begun;
  while (ask.type !== 'end') {
    signal.throwIfAborted();
    if (ask.type === 'predecessor') {
      const { of, nth, direction } = ask;
      const key = await reader.store.predecessor(scope, direction, of, nth);
      ({ walk, memory, ask } = step(walk, memory, { type: 'predecessor', key }, reader.clock.now()));
      continue;
    }
    const page = await askPage(reading, ask);
    ({ walk, memory, ask } = step(walk, memory, toldBy(page), reader.clock.now()));
    if (page instanceof RequestRefused) continue;
    const isKnown = await onPage(page.items);
    const rows = page.items.flatMap(({ key }) =>
      key === undefined ? [] : [{ key, known: isKnown(key), changed: false }],
    );
    memory = noteWritten(memory, rows);
  }
  return { end: ask, memory };
}

async function askPage(
  { reader, scope, collection, priority, signal, onExchange }: QuietReading,
  ask: Extract<Ask, { readonly type: 'page' }>,
): Promise<Page | RequestRefused> {
  try {
    return await reader.source.page({
      path: collection.path(scope.parent),
      route: collection.route,
      keyField: collection.keyField,
      keyType: collection.keyType,
      cursor: ask.cursor ?? undefined,
      limit: ask.limit ?? undefined,
      priority,
      signal: new AbortController().signal,
      stop: signal,
      onExchange,
    });
  } catch (error) {
    if (error instanceof RequestRefused) return error;
    throw error;
  }
}

function toldBy(answer: Page | RequestRefused): Answer {
  if (answer instanceof RequestRefused) {
    return { type: 'refused', status: answer.status, message: messageOf(answer) };
  }
  const { items, hasMore, nextCursor } = answer;
  return { type: 'page', keys: items.map(({ key }) => key), hasMore, nextCursor };
}
