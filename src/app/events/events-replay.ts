import type { Db } from '../../db/connection/db.ts';
import type { Config } from '../../config/config.ts';
import { ownIdentity } from '../../db/ownership/process-identity.ts';
import { type ReplayedEvent, replayEvents } from '../../db/events/stored-events.ts';
import { wake } from '../../db/notify/wakeups.ts';
import type { HintedRow } from '../../model/hint.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { daemonLives } from '../process/daemon-lives.ts';

export interface ReplayProgress {
  /** Rows, and lists as a whole, that the events name. */
  readonly rows: number;
  /** How many of them were read since. */
  readonly read: number;
}

export interface ReplayReport extends ReplayProgress {
  /** IDs; one for each account that has the event. */
  readonly replayed: readonly string[];
  /** IDs that no event has. */
  readonly missing: readonly string[];
  /** Whether a daemon runs, which reads them. */
  readonly daemon: boolean;
}

export interface ReplayOptions {
  readonly ids: readonly string[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ReplayProgress) => void;
}

/** How often (ms) it looks what was read. */
const LOOK_MS = 250;
/** How long (ms) it waits: what is not read by then waits for something else, such as a stopped account. */
const PATIENCE_MS = 60_000;

/**
 * Replays stored events, and waits until the daemon has read once what they name. Without a daemon, or when it takes
 * too long, what they name stays due.
 * @throws the signal's reason
 */
export async function replayAndFollow(
  { collections }: Config,
  db: Db,
  { ids, clock, signal, onProgress }: ReplayOptions,
): Promise<ReplayReport> {
  const replayed = await replayEvents(db, ids, collections);
  await wake(db);
  const found = new Set(replayed.map(({ id }) => id));
  const daemon = await daemonLives(db, await ownIdentity());
  const rows = namedRows(replayed);
  const until = clock.monotonic() + PATIENCE_MS;
  let read = 0;
  for (;;) {
    read = rows.length - (await unread(db, rows));
    onProgress({ rows: rows.length, read });
    if (!daemon || read === rows.length || clock.monotonic() > until) break;
    await clock.sleep(LOOK_MS, signal);
  }
  return {
    replayed: replayed.map(({ id }) => id),
    missing: ids.filter((id) => !found.has(id)),
    rows: rows.length,
    read,
    daemon,
  };
}

interface NamedRow extends HintedRow {
  readonly userId: string;
}

function namedRows(replayed: readonly ReplayedEvent[]): NamedRow[] {
  const rows = replayed.flatMap(({ userId, rows }) => rows.map((row) => ({ userId, ...row })));
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()];
}

/** How many of the rows have not been read since: each reading removes a hint, or raises its step. */
async function unread(db: Db, rows: readonly NamedRow[]): Promise<number> {
  const column = (field: keyof NamedRow): string[] => rows.map((row) => row[field]);
  const { rows: found } = await db.sql<{ unread: string }>`
    select count(*) as unread from ${db.stateTable('hint')} as h
    join unnest(${column('userId')}::bigint[], ${column('collection')}::text[], ${column('parent')}::text[],
      ${column('key')}::text[]) as x (user_id, collection, parent, key)
      on h._user_id = x.user_id and h.collection = x.collection and h.parent = x.parent and h.key = x.key
    where h.step = 0`;
  return Number(found[0]?.unread ?? 0);
}
