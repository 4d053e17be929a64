import type { Db } from '../connection/db.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { HEARTBEAT } from '../ownership/heartbeat.ts';

/** Between two looks, milliseconds. */
const LOOK_EVERY = 1_000;

/**
 * Whether a process that was here before still writes its heartbeats: then this is no copy, whatever its host. A copy
 * has the rows of those processes, too, but they do not change. Answers at once where none of those rows is fresh,
 * else within the validity of a heartbeat.
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
  readonly id: string;
  readonly until: Date;
  readonly fresh: boolean;
}

/**
 * By ID, the processes that began before the installation's last sign of life. Later ones prove nothing: they may
 * have begun in a copy.
 */
async function elders(db: Db): Promise<ReadonlyMap<string, Elder>> {
  const { rows } = await db.sql<Elder>`
    select p.process_id as id, p.alive_until as until, p.alive_until > clock_timestamp() as fresh
    from ${db.stateTable('process')} as p
    where p.started_at < (select alive_at from ${db.stateTable('installation')})`;
  return new Map(rows.map((row) => [row.id, row]));
}
