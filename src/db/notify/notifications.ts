import type { Db } from '../connection/db.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { service, type Service } from '@research-mirror/runtime/service';

/** Rows of a table that changed: one `NOTIFY <schema>_changes`. */
export interface TableChange {
  readonly table: string;
  /** Decimal digits of a bigint, as `changeId`. */
  readonly userId: string;
  /** The greatest `_change_id`. */
  readonly changeId: string;
}

export interface Notifications extends Service {
  /** To be called after the commit. Never throws, never waits. */
  changed(change: TableChange): void;
}

/** Notifies listeners of one change, for a command that makes no other. To be called after the commit; never throws. */
export async function notifyOnce(db: Db, change: TableChange): Promise<void> {
  await db.sql`select pg_notify(${`${db.schema}_changes`}, ${payload(db.schema, change)})`.catch(() => {});
}

/** One notification at most for a table and account in this time, milliseconds. */
const COALESCE = 250;

/**
 * Notifies listeners of the mirror that rows have changed: `{"schema","table","user_id","change_id"}`, coalesced. A
 * notification may be lost; its failure changes nothing. It stays outside the page's transaction, where it would take
 * a lock of the whole cluster at commit.
 */
export function createNotifications(db: Db, clock: Clock): Notifications {
  const bell = new Doorbell();
  const pending = new Map<string, TableChange>();
  const flush = async (): Promise<void> => {
    const changes = [...pending.values()];
    pending.clear();
    for (const change of changes) await notifyOnce(db, change);
  };
  const running = service('notifications', async ({ signal, ready }) => {
    ready();
    try {
      for (;;) {
        await bell.heard(signal);
        await flush();
        await clock.sleep(COALESCE, signal);
      }
    } finally {
      await flush();
    }
  });
  return {
    ...running,
    changed: (change) => {
      const key = `${change.userId}/${change.table}`;
      const waiting = pending.get(key);
      if (waiting === undefined || BigInt(waiting.changeId) < BigInt(change.changeId)) {
        pending.set(key, change);
        bell.ring();
      }
    },
  };
}

/** The digits become JSON numbers as they are: none is lost. */
function payload(schema: string, { table, userId, changeId }: TableChange): string {
  return `{"schema":${JSON.stringify(schema)},"table":${JSON.stringify(table)},"user_id":${userId},"change_id":${changeId}}`;
}
