import type { ScopeMemory } from './memory.ts';
import { observeChanges, type WrittenRow } from './order.ts';

/**
 * To be called with each page that was written, in the same transaction, before the next `step`.
 * @param rows the page's rows that the mirror now holds, in the page's order (quarantined items are not among them)
 */
export function noteWritten(memory: ScopeMemory, rows: readonly WrittenRow[]): ScopeMemory {
  const evidence = observeChanges(memory.evidence, memory.keyType, rows, memory.needed);
  const inserted = rows.filter((row) => !row.known).length;
  if (evidence === memory.evidence && inserted === 0) return memory;
  return { ...memory, evidence, rows: memory.rows + inserted };
}
