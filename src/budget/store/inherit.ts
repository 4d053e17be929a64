import type { KeyModel } from '../key-model.ts';
import type { StoreTime } from './store-time.ts';
import type { LoadedBlock } from './store.ts';
import { BLOCK_VALID_MS, GUARD_MS, UNANSWERED_MS, WINDOW_MS } from '../slots/timing.ts';

/**
 * Takes over the slots that an earlier process held. A slot that it did not record as freed counts as sent at its
 * reservation's end, without an answer: that is the latest at which the server can have counted it.
 */
export function inheritBlocks(
  model: KeyModel,
  blocks: readonly LoadedBlock[],
  now: number,
  time: StoreTime,
): void {
  // No honest row holds a slot longer; one that does was written before the store's clock was put back.
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
