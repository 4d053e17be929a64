import type { Db } from '../connection/db.ts';
import type { CollectionName } from '../../model/collections.ts';
import { rowsOfEvent } from '../../model/hint.ts';
import type { EventSink } from '../../model/webhook/verified-event.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { storeEvent } from './event-store.ts';
import { mirroredRows } from './stored-events.ts';
import { wake } from '../notify/wakeups.ts';

export interface EventSinkOptions {
  /** Better not the pool that pages use: a delivery has a second. */
  readonly db: Db;
  /** Collections that are mirrored: only they are hinted. */
  readonly collections: readonly CollectionName[];
  readonly clock: Clock;
}

/** Other processes are woken at most once in this time, milliseconds: one wake-up tells of any number of events. */
const COALESCE = 50;

/** Stores events; the process that owns the account, whichever it is, is told soon after the commit. */
export function createEventSink({ db, collections, clock }: EventSinkOptions): EventSink {
  let waking = false;
  let more = false;
  const wakeOthers = async (): Promise<void> => {
    more = true;
    if (waking) return;
    waking = true;
    while (more) {
      more = false;
      await wake(db);
      await clock.sleep(COALESCE);
    }
    waking = false;
  };
  return {
    async store(userId, event) {
      const rows = mirroredRows(rowsOfEvent(event.type, event.dataSource), collections);
      const outcome = await storeEvent(db, userId, event, rows);
      if (outcome === 'stored') void wakeOthers();
      return outcome;
    },
  };
}
