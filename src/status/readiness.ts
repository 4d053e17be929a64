import type { Clock } from '@research-mirror/runtime/clock';
import { formatSpan } from '@research-mirror/runtime/figures';
import type { Logger } from '@research-mirror/runtime/logger';
import { type Service, service } from '@research-mirror/runtime/service';
import { MIGRATIONS } from '../config/program.ts';
import type { Db } from '../postgres/db.ts';
import { missingRights, tryWriting, whatIsMissing } from '../postgres/inspection.ts';
import { concernsWholeDatabase, failureMessage, isReadOnlySession, sqlState } from '../postgres/sql-state.ts';
import type { SyncObserver } from '../sync/reading-context.ts';
import type { Ready } from './server.ts';

const READ_ONLY =
  'the database is read-only (a standby, or default_transaction_read_only): point DATABASE_URL at a writable server';

/** `page`: every write for mirroring and submitting but the other two. */
type WriteKind = 'heartbeat' | 'delivery' | 'page';

/** `missing`: an object or a right is missing, which any write may meet. Only a trial clears it. */
type Refused = WriteKind | 'trial' | 'missing';

/** SQL states of a missing table, column, function or right. */
const OBJECT_MISSING = /^(42|3F)/;

/** Time between two trials while writes are refused, ms. */
const TRY_EVERY_MS = 30_000;

/**
 * Outcome of the last writes. A refusal stays until a write of its kind, or a trial, goes through: on a full disk small
 * updates still work. A missing object stays until a trial finds it: pages of other tables still work.
 */
export class WriteHealth {
  readonly #refusals = new Map<Refused, string>();
  readonly #log: Pick<Logger, 'warn' | 'info'>;
  #tryNow = new AbortController();
  /** Whether the first trial is over. */
  tried = false;

  constructor(log: Pick<Logger, 'warn' | 'info'>) {
    this.#log = log;
  }

  refused(kind: WriteKind | 'trial', error: unknown): void {
    if (!concernsWholeDatabase(error)) return;
    const isMissing = OBJECT_MISSING.test(sqlState(error) ?? '');
    this.#refuse(isMissing ? 'missing' : kind, failureMessage(error));
    if (isMissing && kind !== 'trial') this.#tryNow.abort();
  }

  wentThrough(kind: WriteKind): void {
    this.#over([kind]);
  }

  /** Why nothing can be written; undefined if nothing was refused. */
  why(): string | undefined {
    // A trial is the most precise.
    return this.#refusals.get('missing') ?? this.#refusals.get('trial') ?? [...this.#refusals.values()][0];
  }

  readonly observer: SyncObserver = {
    pageWritten: ({ inserted, updated }) => {
      if (inserted + updated > 0) this.wentThrough('page');
    },
    walkEnded: ({ error }) => this.refused('page', error),
  };

  /** One trial at the start, and more while something is refused. */
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

  /** One trial. Its result replaces the refusals. */
  async tryOut(db: Db): Promise<void> {
    try {
      const [right] = await missingRights(db, MIGRATIONS, true);
      const lacks =
        (await whatIsMissing(db, MIGRATIONS, false)) ?? (right && `the database's user ${right.what}: ${right.sql}`);
      if (lacks !== undefined) return this.#refuse('missing', lacks);
      this.#over(['missing']);
      await tryWriting(db);
      this.#over([...this.#refusals.keys()]);
    } catch (error) {
      // Only the trial needs the right to create a table.
      if (sqlState(error) !== '42501') this.refused('trial', error);
    }
  }

  #refuse(kind: Refused, why: string): void {
    if (this.#refusals.size === 0) this.#log.warn(`not ready: ${why}; retrying every ${TRY_EVERY_MS / 1000} s`);
    this.#refusals.set(kind, why);
  }

  #over(kinds: readonly Refused[]): void {
    const before = this.#refusals.size;
    for (const kind of kinds) this.#refusals.delete(kind);
    if (before > 0 && this.#refusals.size === 0) this.#log.info('ready: the database takes writes again');
  }
}

/** Why no session can write, if the database says so. The error makes the pool replace a read-only session. */
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
 * Whether the database takes writes. A standby after a failover, or one with a full disk, still answers queries.
 * @param lateMs time since the last heartbeat, a committed write, ran out, ms; Infinity: there was none
 * @throws if the database does not answer
 */
export async function readiness(db: Db, writes: Pick<WriteHealth, 'why' | 'tried'>, lateMs: number): Promise<Ready> {
  const refused = (await whyReadOnly(db)) ?? writes.why();
  if (refused !== undefined) return { ok: false, why: refused };
  if (lateMs === Infinity || !writes.tried)
    return { ok: false, why: 'the daemon is starting: it has not written to the database yet' };
  if (lateMs <= 0) return { ok: true };
  const ago = formatSpan(lateMs);
  return { ok: false, why: `no heartbeat reaches the database: the last one expired ${ago} ago (see the log)` };
}
