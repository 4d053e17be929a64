import type { KeyModel } from '../key-model.ts';
import type { StoreTime } from './store-time.ts';
import type { LoadedBlock } from './store.ts';
import { BLOCK_VALID_MS, GUARD_MS, UNANSWERED_MS, WINDOW_MS } from '../slots/timing.ts';

/**
 * Takes over the slots of an earlier process. A slot that it did not record as freed counts as sent at its
 * reservation's end, without an answer: the server cannot have counted it later.
 */
export function inheritBlocks(
  model: KeyModel,
  blocks: readonly LoadedBlock[],
  now: number,
  time: StoreTime,
): void {
  // Only a row from before the store's clock was put back has a later moment.
  const latest = now + BLOCK_VALID_MS + UNANSWERED_MS;
  for (const { group, size, validUntil, freed } of blocks) {
    const log = model.groups.get(group)?.log;
    for (const moment of freed) {
      log?.inherit(Math.min(latest, time.fromStore(moment) - WINDOW_MS - GUARD_MS));
    }
    for (let open = size - freed.length; open > 0; open -= 1) {
      log?.inherit(Math.min(latest, time.fromStore(validUntil) + UNANSWERED_MS));
    }
  }
}
