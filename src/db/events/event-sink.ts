import type { Db } from '../connection/db.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { EventSink } from '../../model/webhook/verified-event.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { storeEvent } from './event-store.ts';
import { mirroredRows } from './stored-events.ts';
import { coalesced } from '../notify/coalesced.ts';
import { wake } from '../notify/wakeups.ts';

export interface EventSinkOptions {
  /** A pool that pages do not use: a delivery must be answered within a second. */
  readonly db: Db;
  /** Mirrored collections: hints are for these only. */
  readonly collections: readonly CollectionName[];
  readonly clock: Clock;
}

/** Other processes are woken once in this time at most, milliseconds: one wake-up is enough for many events. */
const COALESCE = 50;

/** Stores events, and soon after the commit wakes the process that owns the account. */
export function createEventSink({ db, collections, clock }: EventSinkOptions): EventSink {
  const wakeOthers = coalesced(async () => {
    await wake(db);
    await clock.sleep(COALESCE);
  });
  return {
    async store(userId, event) {
      const rows = mirroredRows(event.rows, collections);
      const outcome = await storeEvent(db, userId, event, rows);
      if (outcome === 'stored') void wakeOthers();
      return outcome;
    },
  };
}
