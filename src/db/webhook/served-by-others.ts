import type { Db } from '../connection/db.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { HEARTBEAT } from '../ownership/heartbeat.ts';

/** Milliseconds. */
const LOOK_EVERY = 1_000;

/**
 * Whether a process that was here before still writes its heartbeats: then this is the database that was here before,
 * at whatever host it is reached. In a copy the rows of those processes are there, too, but stand still. Answers at once
 * where no such row is fresh, else within the validity of a heartbeat.
 */
export async function isServedByOthers(db: Db, clock: Clock, signal?: AbortSignal): Promise<boolean> {
  const first = await elders(db);
  if (![...first.values()].some(({ fresh }) => fresh)) return false;
  for (let waited = 0; waited <= HEARTBEAT.validFor; waited += LOOK_EVERY) {
    await clock.sleep(LOOK_EVERY, signal);
    for (const [processId, { until }] of await elders(db)) {
      const before = first.get(processId);
      if (before !== undefined && until > before.until) return true;
    }
  }
  return false;
}

interface Elder {
  /** Milliseconds since the epoch, by the database's clock. */
  readonly until: number;
  readonly fresh: boolean;
}

/**
 * Processes that began before the installation's last beat. Those that began after it prove nothing: they may have
 * come to a copy.
 */
async function elders(db: Db): Promise<Map<string, Elder>> {
  const { rows } = await db.sql<{ id: string; until: Date; fresh: boolean }>`
    select p.process_id as id, p.alive_until as until, p.alive_until > clock_timestamp() as fresh
    from ${db.stateTable('process')} as p
    where p.started_at < (select alive_at from ${db.stateTable('installation')})`;
  return new Map(rows.map(({ id, until, fresh }) => [id, { until: until.getTime(), fresh }]));
}
