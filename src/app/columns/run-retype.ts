import type { Clock } from '@research-mirror/runtime/clock';
import { openDatabase } from '../../db/connection/database.ts';
import type { Db } from '../../db/connection/db.ts';
import type { ConnectionOptions } from '../../db/connection/pool.ts';
import { retypeColumn } from '../../mirror/retype/retype-column.ts';
import { RetypeRefused } from '../../model/errors.ts';
import { retypableColumn } from '../../mirror/retype/retypable-column.ts';
import { obstaclesTo, refusedBy } from '../../mirror/retype/swap-columns.ts';
import { type TriedType, tryType } from '../../mirror/retype/try-type.ts';
import type { CollectionName } from '../../model/collections.ts';
import { tableOf } from '../../mirror/table.ts';

export interface RetypeRequest {
  readonly table: CollectionName;
  readonly column: string;
  readonly type: string;
  /** `MIRROR_EXCLUDE_FIELDS` of the table: fields that are never stored. */
  readonly excluded: readonly string[];
}

export interface RetypeContext {
  readonly db: Db;
  readonly connection: ConnectionOptions;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** @param rows that were read, in all */
  readonly onRows: (rows: number) => void;
}

/** What was done, or would be. */
export interface RetypeReport {
  readonly table: string;
  readonly column: string;
  readonly field: string;
  readonly from: string;
  readonly to: string;
  readonly dryRun: boolean;
  /** Of a dry run: how the values fit. */
  readonly tried: TriedType | null;
  /** Of the others: rows and versions that were read, and values that do not fit. */
  readonly done: { readonly read: number; readonly unfit: number } | null;
}

/** Statements that count, or look for few values among many rows; nobody waits for them. */
const PATIENT = { statement: 600_000, idle: 5_000 };

/** @throws RetypeRefused; what `retypeColumn` throws */
export async function runRetype(
  { db, connection, ...context }: RetypeContext,
  { table, column: name, type, excluded }: RetypeRequest,
  dryRun: boolean,
): Promise<RetypeReport> {
  const { column, to } = await retypableColumn(db, tableOf(db.schema, table), name, type);
  const { field, type: from } = column;
  if (excluded.includes(field)) {
    throw new RetypeRefused(
      `MIRROR_EXCLUDE_FIELDS has ${table}.${field}: it is not stored, so no type takes it`,
    );
  }
  const about = { table, column: name, field, from, to, dryRun };
  const patient = await openDatabase({ ...connection, schema: db.schema, max: 1, bounds: PATIENT });
  try {
    if (!dryRun) {
      const done = await retypeColumn(db, { ...context, column, to, patient: patient.db });
      return { ...about, tried: null, done };
    }
    const inTheWay = await obstaclesTo(db, column);
    if (inTheWay.length > 0) throw refusedBy(column, inTheWay);
    return { ...about, tried: await tryType(patient.db, column, to, context), done: null };
  } finally {
    await patient.close();
  }
}
