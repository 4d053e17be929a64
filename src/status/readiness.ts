import type { Db } from '../postgres/db.ts';
import { concernsWholeDatabase, failureMessage, isReadOnlySession, sqlState } from '../postgres/sql-state.ts';
import { missingRights, tryWriting, whatIsMissing } from '../postgres/inspection.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { formatSpan } from '@research-mirror/runtime/figures';
import type { Logger } from '@research-mirror/runtime/logger';
import { type Service, service } from '@research-mirror/runtime/service';
import type { Ready } from './server.ts';
import type { SyncObserver } from '../sync/reading-context.ts';
import { MIGRATIONS } from '../config/program.ts';

const READ_ONLY =
  'the database is read-only (a standby, or default_transaction_read_only): DATABASE_URL must lead to one that can be written';

/** `page`: all that mirrors and submits, besides the other two. */
type WriteKind = 'heartbeat' | 'delivery' | 'page';

/** `missing`: an object or a right, as a trial found, or as any write met it: only a trial finds that it is back. */
type Refused = WriteKind | 'trial' | 'missing';

/** A table, column, function or right is missing. */
const OBJECT_MISSING = /^(42|3F)/;

/** How long (ms) after a trial the next one is made, while writes are refused. */
const TRY_EVERY_MS = 30_000;

/**
 * What became of the last writes. A refusal that concerns the whole database stays until a write of its kind, or a
 * trial, goes through: on a full disk heartbeats go on, as do other small updates. What is missing stays until a trial
 * finds it: pages of other tables go on.
 */
export class WriteHealth {
  readonly #refusals = new Map<Refused, string>();
  readonly #log: Pick<Logger, 'warn' | 'info'>;
  /** Ends the wait for the next trial. */
  #tryNow = new AbortController();
  /** Whether the trial of the start is over. */
  tried = false;

  constructor(log: Pick<Logger, 'warn' | 'info'>) {
    this.#log = log;
  }

  refused(kind: WriteKind | 'trial', error: unknown): void {
    if (!concernsWholeDatabase(error)) return;
    const isMissing = OBJECT_MISSING.test(sqlState(error) ?? '');
    this.#refuse(isMissing ? 'missing' : kind, failureMessage(error));
    // It finds out what is missing, and when it is there again.
    if (isMissing && kind !== 'trial') this.#tryNow.abort();
  }

  wentThrough(kind: WriteKind): void {
    this.#over([kind]);
  }

  /** Why nothing can be written; undefined: nothing was refused. */
  why(): string | undefined {
    // The trial knows best.
    return this.#refusals.get('missing') ?? this.#refusals.get('trial') ?? [...this.#refusals.values()][0];
  }

  /** Pages that wrote rows, and walks that could not. */
  readonly observer: SyncObserver = {
    pageWritten: ({ inserted, updated }) => {
      if (inserted + updated > 0) this.wentThrough('page');
    },
    walkEnded: ({ error }) => this.refused('page', error),
  };

  /** Tries at the start, and again while something is refused. */
  trials(db: Db, clock: Clock): Service {
    return service('write trials', async ({ signal, ready }) => {
      ready();
      for (;;) {
        if (!this.tried || this.#refusals.size > 0) await this.tryOut(db);
        this.tried = true;
        await clock.sleep(TRY_EVERY_MS, AbortSignal.any([signal, this.#tryNow.signal])).catch(() => {});
        signal.throwIfAborted();
        this.#tryNow = new AbortController();
      }
    });
  }

  /** One trial: what it finds replaces what was refused. */
  async tryOut(db: Db): Promise<void> {
    try {
      const [right] = await missingRights(db, MIGRATIONS, true);
      const lacks =
        (await whatIsMissing(db, MIGRATIONS, false)) ??
        (right && `the database's user ${right.what}: ${right.sql}`);
      if (lacks !== undefined) return this.#refuse('missing', lacks);
      this.#over(['missing']);
      await tryWriting(db);
      this.#over([...this.#refusals.keys()]);
    } catch (error) {
      // To make a table is a right that only the trial needs: writes may go through all the same.
      if (sqlState(error) !== '42501') this.refused('trial', error);
    }
  }

  #refuse(kind: Refused, why: string): void {
    if (this.#refusals.size === 0)
      this.#log.warn(`not ready: ${why}; tried again each ${TRY_EVERY_MS / 1000} s`);
    this.#refusals.set(kind, why);
  }

  #over(kinds: readonly Refused[]): void {
    const before = this.#refusals.size;
    for (const kind of kinds) this.#refusals.delete(kind);
    if (before > 0 && this.#refusals.size === 0) this.#log.info('ready: the database takes writes again');
  }
}

/**
 * Why no session can write; undefined: the database does not say so of itself. A session that is read-only stays so: by
 * the error the pool makes another one in its place.
 */
export async function whyReadOnly(db: Db): Promise<string | undefined> {
  try {
    await db.raw(`do $$ begin
      if current_setting('transaction_read_only')::boolean then raise read_only_sql_transaction; end if;
    end $$`);
    return undefined;
  } catch (error) {
    if (isReadOnlySession(error)) return READ_ONLY;
    throw error;
  }
}

/**
 * Whether the database takes writes. One that answers queries may still refuse them: after a failover the address may
 * lead to a standby, the disk may be full, the schema may be gone.
 * @param lateMs since when the last heartbeat is over, which is a committed write; Infinity: there was none
 * @throws where the database does not answer
 */
export async function readiness(
  db: Db,
  writes: Pick<WriteHealth, 'why' | 'tried'>,
  lateMs: number,
): Promise<Ready> {
  const refused = (await whyReadOnly(db)) ?? writes.why();
  if (refused !== undefined) return { ok: false, why: refused };
  if (lateMs === Infinity || !writes.tried) {
    return { ok: false, why: 'the daemon is starting: it has not written to the database yet' };
  }
  if (lateMs <= 0) return { ok: true };
  const ago = formatSpan(lateMs);
  return { ok: false, why: `the database takes no heartbeat: the last one ran out ${ago} ago (see the log)` };
}
