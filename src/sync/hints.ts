import { sql } from 'kysely';
import { nextHints, type StoredHint, updateHints } from '../mirror/hint-store.ts';
import { liveCount } from '../mirror/live-rows.ts';
import { dataTable, inScope, keyColumn, keyTypeName, tableOf } from '../mirror/table.ts';
import type { CollectionName, Scope } from '../model/collections.ts';
import type { Db } from '../postgres/db.ts';
import { type Fence, fenced, readAccount } from '../postgres/fenced.ts';

export type HintStore = ReturnType<typeof createHintStore>;

/** The queue of an account's hints, and what the mirror has of the hinted rows. */
export function createHintStore(db: Db, fence: Fence) {
  return {
    /** The scope whose hint is due first, with its due hints; only in `among`, and none of `except`. */
    next: (among: readonly CollectionName[], except: readonly Scope[]) => nextHints(db, fence.userId, among, except),
    /** The keys whose rows are live. */
    live: async (scope: Scope, keys: readonly string[]) =>
      new Set((await rowsOf(db, scope, keys)).filter(({ live }) => live).map(({ key }) => key)),
    /** Number of the scope's live rows. */
    size: (scope: Scope) => liveCount(db, scope),
    /** Removes or postpones hints whose rows were read: see `judgeHint`. @throws LeaseLost */
    settle: async (scope: Scope, hints: readonly StoredHint[]) => {
      const keys = hints.map(({ key }) => key);
      const rows = await rowsOf(db, scope, keys);
      const changedAt = new Map<string, Date | undefined>(rows.map((row) => [row.key, row.changedAt]));
      if (hints.some(({ key }) => key === '')) changedAt.set('', await lastChange(db, scope));
      await fenced(db, fence, (trx, now) => {
        const judged = hints.map((hint) => ({
          ...hint,
          dueAt: judgeHint(hint, changedAt.get(hint.key), now),
        }));
        return updateHints(trx, scope, judged);
      });
    },
  };
}

/** The mirror's rows with these keys, including deleted ones. The key '' names none. */
async function rowsOf(db: Db, scope: Scope, named: readonly string[]) {
  const table = tableOf(db.schema, scope.collection);
  const keys = named.filter((key) => key !== '');
  if (table.key === undefined || keys.length === 0) return [];
  return readAccount<{ key: string; changedAt: Date; live: boolean }>(
    db,
    scope.userId,
    sql`
    select ${keyColumn(table)}::text as key, t._changed_at as "changedAt", t._deleted_at is null as live
    from ${dataTable(table)} as t
    where ${inScope(table, scope)} and ${keyColumn(table)} = any(${keys}::${keyTypeName(table)}[])`,
  );
}

/** When a row of the scope changed last. */
async function lastChange(db: Db, scope: Scope): Promise<Date | undefined> {
  const table = tableOf(db.schema, scope.collection);
  // For one list among many it reads all rows of the list: the index of changes covers the changes of all lists.
  const newest =
    table.parent === undefined
      ? sql`t._changed_at as at from ${dataTable(table)} as t where ${inScope(table, scope)} order by t._change_id desc limit 1`
      : sql`max(t._changed_at) as at from ${dataTable(table)} as t where ${inScope(table, scope)}`;
  const { rows } = await db.sql<{ at: Date | null }>`select ${newest}`;
  return rows[0]?.at ?? undefined;
}

/** Requests that hints may send at once after a quiet time. */
export const BURST = 5;
/** Hints' share of the budget (docs/design/plan.md, "Hints"). */
const SHARE = 0.5;

/**
 * Token bucket of the requests that hints may send: half of what the budget allows, so that polls and walks always
 * have the other half. A reading may take more tokens than there are; the next one then waits longer. Times are
 * monotonic, ms. Rates are the budget's, in requests a minute, and may change.
 */
export class HintBucket {
  #tokens = BURST;
  #at: number;

  constructor(now: number) {
    this.#at = now;
  }

  /** Whole tokens; 0 if readings took more than there were. */
  tokens(now: number, perMinute: number): number {
    this.#tokens = Math.min(BURST, this.#tokens + (now - this.#at) * tokensPerMs(perMinute));
    this.#at = now;
    // Tolerates rounding: a token that lacks less than a timer can measure is whole.
    return Math.max(0, Math.floor(this.#tokens + 1e-6));
  }

  spend(requests: number): void {
    this.#tokens -= requests;
  }

  /** Time until there is a token, ms. */
  waitMs(now: number, perMinute: number): number {
    if (this.tokens(now, perMinute) > 0) return 0;
    return Math.ceil((1 - this.#tokens) / tokensPerMs(perMinute));
  }
}

function tokensPerMs(perMinute: number): number {
  return (SHARE * perMinute) / 60_000;
}

/** Longest time by which a change may be mirrored before its event, ms: then the event says nothing new. */
const FOUND_BEFORE_MS = 60_000;
/** When a row that looks unchanged is read again, ms after the event: replicas lag, and events may come early. */
const AGAIN_MS = [5_000, 30_000] as const;
/** Least time between two readings for the same event, ms. */
const APART_MS = 5_000;

/**
 * Decides about a hint whose row was read. The hint is done if the row has changed. Otherwise it is due again, at most
 * twice; after that the event counts as one that changed nothing.
 * @param changedAt when the row, or any row of the scope as a whole, changed last; undefined: the mirror has none
 * @param now by the database's clock, after the reading
 * @returns when it is due again; null: it is done
 */
export function judgeHint({ hintedAt, step }: StoredHint, changedAt: Date | undefined, now: Date): Date | null {
  if (changedAt !== undefined && changedAt.getTime() >= hintedAt.getTime() - FOUND_BEFORE_MS) return null;
  const afterEvent = AGAIN_MS[step];
  if (afterEvent === undefined) return null;
  // Bounded both ways, since the database's clock may have been set meanwhile.
  const inMs = hintedAt.getTime() + afterEvent - now.getTime();
  return new Date(now.getTime() + Math.min(Math.max(inMs, APART_MS), afterEvent));
}
