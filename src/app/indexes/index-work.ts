import { openDatabase } from '../../db/connection/database.ts';
import type { Db } from '../../db/connection/db.ts';
import type { ConnectionOptions } from '../../db/connection/pool.ts';
import { MIGRATION_BOUNDS } from '../../db/migrations/run-migrations.ts';
import { type BuilderContext, buildIndex, dropIndex } from '../../mirror/indexes/index-builder.ts';
import { type JudgedIndex, judgeIndexes, type ReportedIndex } from './index-report.ts';
import { indexedTables, mayComeLater } from '../../mirror/indexes/optional-index.ts';
import { readIndexedTable } from '../../mirror/indexes/stored-indexes.ts';
import {
  readWanted,
  unwantAll,
  unwantIndex,
  wantAllIndexes,
  wantIndexes,
} from '../../mirror/indexes/wanted-indexes.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';

/** What working on optional indexes takes. */
export interface IndexContext {
  readonly db: Db;
  /** By DATABASE_URL_DIRECT where there is one. */
  readonly direct: ConnectionOptions;
  /** `direct` leads to the server itself for sure: an embedded one, or DATABASE_URL_DIRECT. */
  readonly unpooled: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * What came of one index:
 * - `made`, `dropped`: done
 * - `there`, `waiting`: nothing to do; nothing to do before its column comes
 * - `busy`: something else makes an index of its table, or vacuums it; the daemon makes it later
 * - `covered`: another index, which `create` has not made, does the same
 * - `taken`: an index of this name is somebody else's, and left alone
 * - `unknown`: there is no such index, and nobody asked for one
 * - `failed`: `error` says why
 */
export interface IndexOutcome {
  readonly name: string;
  readonly outcome:
    | 'made'
    | 'dropped'
    | 'there'
    | 'waiting'
    | 'busy'
    | 'covered'
    | 'taken'
    | 'unknown'
    | 'failed';
  readonly error: string | null;
}

/** Told before each index that is worked on. */
type OnBegin = (index: ReportedIndex) => void;

/** Every index of the data tables, and every optional one. */
export async function listIndexes(db: Db): Promise<readonly JudgedIndex[]> {
  const tables = [];
  for (const table of indexedTables(db.schema)) tables.push(await readIndexedTable(db, table));
  return judgeIndexes(tables, await readWanted(db));
}

/** Names that `create` takes: of optional indexes that are there, suggested or wanted. */
export function isKnownName(schema: string, listed: readonly JudgedIndex[], name: string): boolean {
  return listed.some((each) => each.optional?.name === name) || mayComeLater(schema, name);
}

/**
 * Has indexes kept, and makes them one after another.
 * @param names all of them known; undefined: all that are suggested, and those whose columns come later
 */
export async function createIndexes(
  context: IndexContext,
  names: readonly string[] | undefined,
  onBegin: OnBegin,
): Promise<readonly IndexOutcome[]> {
  const { db } = context;
  const before = await listIndexes(db);
  if (names === undefined) await wantAllIndexes(db);
  const chosen =
    names === undefined
      ? before.filter(({ optional, state }) => optional !== undefined && state !== 'other')
      : before.filter(({ name }) => names.includes(name));
  const later = (names ?? []).filter((name) => chosen.every((each) => each.name !== name));
  await wantIndexes(db, later);
  return withBuilder(context, async (builder) => {
    const outcomes: IndexOutcome[] = [];
    for (const index of chosen) outcomes.push(await makeOne(builder, index, onBegin));
    return [...outcomes, ...later.map((name): IndexOutcome => ({ name, outcome: 'waiting', error: null }))];
  });
}

/** Makes what is missing or broken, one after another: the daemon's part. @returns what it worked on */
export async function keepIndexes(context: IndexContext): Promise<readonly IndexOutcome[]> {
  const due = (await listIndexes(context.db)).filter(
    ({ state }) => state === 'missing' || state === 'broken',
  );
  if (due.length === 0) return [];
  return withBuilder(context, async (builder) => {
    const outcomes: IndexOutcome[] = [];
    for (const index of due) outcomes.push(await makeOne(builder, index, () => {}));
    return outcomes;
  });
}

/**
 * Drops indexes that `create` or the daemon made, and keeps them no longer. Nobody else's is touched.
 * @param names undefined: all of them
 */
export async function dropIndexes(
  context: IndexContext,
  names: readonly string[] | undefined,
  onBegin: OnBegin,
): Promise<readonly IndexOutcome[]> {
  const { db } = context;
  if (names === undefined) await unwantAll(db);
  const listed = await listIndexes(db);
  const { names: wanted, all } = await readWanted(db);
  return withBuilder(context, async (builder) => {
    const outcomes: IndexOutcome[] = [];
    for (const name of names ?? wanted) {
      const found = listed.find((each) => each.name === name);
      const outcome = ((): IndexOutcome['outcome'] => {
        if (found?.state === 'other') return 'taken';
        return wanted.has(name) || (all && found?.state === 'missing') ? 'dropped' : 'unknown';
      })();
      outcomes.push(
        await tried(builder, name, async () => {
          // First: the daemon must not make it again. One that is somebody else's by now is no longer kept, either.
          if (outcome === 'dropped' || wanted.has(name)) await unwantIndex(db, name);
          if (outcome === 'dropped' && found?.optional !== undefined && found.bytes !== null) {
            onBegin(found);
            await dropIndex(builder, found.optional);
          }
          return outcome;
        }),
      );
    }
    return outcomes;
  });
}

async function makeOne(builder: BuilderContext, index: JudgedIndex, onBegin: OnBegin): Promise<IndexOutcome> {
  const { name, state, optional } = index;
  return tried(builder, name, async () => {
    if (optional === undefined || state === 'other') return 'taken';
    if (state === 'covered') return 'covered';
    // Before it is made: what is left of it after a crash is known as ours.
    await wantIndexes(builder.canceller, [name]);
    if (state === 'kept') return 'there';
    if (state === 'building') return 'busy';
    onBegin(index);
    return buildIndex(builder, optional);
  });
}

/** One index that fails does not keep the others from being made. @throws the signal's reason */
async function tried(
  { signal }: BuilderContext,
  name: string,
  work: () => Promise<IndexOutcome['outcome']>,
): Promise<IndexOutcome> {
  try {
    return { name, outcome: await work(), error: null };
  } catch (error) {
    signal.throwIfAborted();
    return { name, outcome: 'failed', error: messageOf(error) };
  }
}

async function withBuilder<T>(
  { db: canceller, direct, unpooled, clock, signal }: IndexContext,
  work: (builder: BuilderContext) => Promise<T>,
): Promise<T> {
  const database = await openDatabase({
    ...direct,
    schema: canceller.schema,
    max: 1,
    bounds: MIGRATION_BOUNDS,
  });
  try {
    return await work({ db: database.db, canceller, unpooled, clock, signal });
  } finally {
    await database.close();
  }
}
