import { advance, advanceByFull } from '../memory/frontier.ts';
import type { ScopeMemory } from '../memory/memory.ts';
import { readAsOf, type Reading } from '../reading.ts';

/**
 * What to remember once every item of the scope was read. Nothing of an interrupted poll is left to read. A clean
 * pass makes the order usable again after a contradiction, and has reached the old frontier wherever that was.
 * @param pass `snapshot`: one answer was the whole scope; `clean`: nothing contradicted the order since it began
 */
export function afterComplete(
  memory: ScopeMemory,
  reading: Reading,
  pass: { snapshot: boolean; clean: boolean; now: number },
): ScopeMemory {
  const { direction } = memory.evidence;
  if (!pass.clean || direction === null) return { ...memory, open: null };
  const evidence = { ...memory.evidence, doubt: false };
  const falling = direction === 'falling';
  const key = falling ? reading.first : reading.recent.at(-1);
  if (key === null || key === undefined) return { ...memory, evidence, open: null };
  const reached = { key, at: falling ? reading.firstAt : pass.now, asOf: readAsOf(reading) };
  const move = pass.snapshot ? advance : advanceByFull;
  return { ...memory, evidence, open: null, frontier: move(memory.keyType, memory.frontier, reached) };
}
