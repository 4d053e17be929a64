import { unlessAhead } from '../../db/ownership/moment-ahead.ts';
import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { SuspectedDeletion, MissingRow, AbsenceProof } from '../../model/absence.ts';
import type { KeyType, Scope } from '../../model/collections.ts';
import { compareKeys } from '../../model/key.ts';
import { SUSPECT_COLUMNS, type SuspectRow, toSuspect } from './suspect-store.ts';
import {
  behind,
  keyColumn,
  place,
  placeOf,
  placeOrder,
  dataTable,
  inScope,
  keyTypeName,
  ofScope,
  type Table,
} from '../table.ts';
import { MAX_MISSING } from '../rows/live-rows.ts';

/** What a page proves about rows that are not on it, and the suspected deletions that it may change. */
export interface Absence {
  /** In key order, `MAX_MISSING` at most. */
  readonly missing: readonly MissingRow[];
  readonly suspects: readonly SuspectedDeletion[];
  /** Suspected returns that this page proves absent: their rows stay deleted. */
  readonly refuted: readonly string[];
}

const NO_ABSENCE: Absence = { missing: [], suspects: [], refuted: [] };

/** What a page is compared with. */
interface PageKeys {
  readonly trx: Db;
  readonly table: Table;
  readonly scope: Scope;
  /** Of all the page's items. */
  readonly keys: readonly string[];
  /** The scope has suspected deletions. */
  readonly hasSuspects: boolean;
}

type Nulls<T> = { readonly [K in keyof T]: null };

/** A missing row, a suspected deletion, or both. `changedAt` is null where the row is not missing. */
type AbsenceRow = { readonly key: string; readonly changedAt: Date | null } & (
  | Omit<SuspectRow, 'key'>
  | Nulls<Omit<SuspectRow, 'key'>>
);

/** Missing rows read by one statement, so that it stays within its time bound. */
const BATCH = 20_000;

/**
 * The live rows that a page proves absent, and the suspected deletions among them and the page's keys. One statement
 * unless very many rows are missing; none for a page that can prove nothing.
 * @param keys of all the page's items, those in quarantine too: the service has them
 * @param hasSuspects the scope has suspected deletions
 */
export async function readAbsence(
  trx: Db,
  table: Table,
  scope: Scope,
  proof: AbsenceProof | undefined,
  keys: readonly string[],
  hasSuspects: boolean,
): Promise<Absence> {
  if (table.key === undefined || (proof === undefined && !hasSuspects)) return NO_ABSENCE;
  const { type } = table.key;
  const page: PageKeys = { trx, table, scope, keys, hasSuspects };
  const parts: RawBuilder<unknown>[] = [];
  if (proof !== undefined) parts.push(missingRows(page, proof, undefined));
  if (hasSuspects) parts.push(suspectsOnPage(page));
  if (hasSuspects && proof !== undefined) parts.push(suspectedReturns(page));
  const { rows: first } = await trx.sql<AbsenceRow>`${sql.join(parts, sql` union all `)}`;
  const rows = proof === undefined ? first : first.concat(await furtherMissing(page, proof, type, first));
  const onPage = new Set(keys);
  return {
    missing: rows.flatMap(({ key, changedAt }) =>
      changedAt === null ? [] : [{ key, changedAt: changedAt.getTime() }],
    ),
    suspects: rows.flatMap((row) => (row.kind === null ? [] : [toSuspect(row)])),
    refuted: rows.flatMap(({ key, changedAt }) =>
      proof !== undefined && changedAt === null && !onPage.has(key) && covers(proof, type, key) ? [key] : [],
    ),
  };
}

/** Missing rows behind a first batch that is full, one statement for each batch. */
async function furtherMissing(
  page: PageKeys,
  proof: AbsenceProof,
  type: KeyType,
  first: readonly AbsenceRow[],
): Promise<AbsenceRow[]> {
  const further: AbsenceRow[] = [];
  let batch = first.filter((row) => row.changedAt !== null);
  while (batch.length === BATCH && BATCH + further.length < MAX_MISSING) {
    const last = batch.map(({ key }) => key).reduce((a, b) => (compareKeys(type, a, b) < 0 ? b : a));
    batch = (await page.trx.sql<AbsenceRow>`${missingRows(page, proof, last)}`).rows;
    for (const row of batch) further.push(row);
  }
  return further;
}

/** The first `BATCH` missing rows behind `last` in key order. */
function missingRows(
  { trx, table, scope, keys, hasSuspects }: PageKeys,
  proof: AbsenceProof,
  last: string | undefined,
): RawBuilder<unknown> {
  const key = keyColumn(table);
  const type = keyTypeName(table);
  const columns = hasSuspects
    ? SUSPECT_COLUMNS
    : sql`null::text as kind, null::timestamptz as at, null::timestamptz as "servedAt", null::boolean as proven`;
  // One look into the primary key for each row: a join without statistics may read all suspects for each.
  const suspects = hasSuspects
    ? sql`left join lateral (
        select c.* from ${trx.stateTable('candidate')} as c
        where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)} and c.key = ${key}::text offset 0) as c
      on true`
    : sql``;
  return sql`(
    select ${key}::text as key, ${unlessAhead(sql`t._changed_at`)} as "changedAt", ${columns}
    from ${dataTable(table)} as t ${suspects}
    where ${inScope(table, scope)} and ${inside(table, proof)} and ${behind(table, last)} and t._deleted_at is null
      and ${key} <> all(${[...keys]}::${type}[])
    order by ${placeOrder(table, 'up')} limit ${BATCH})`;
}

function suspectsOnPage({ trx, scope, keys }: PageKeys): RawBuilder<unknown> {
  return sql`(
    select c.key, null::timestamptz as "changedAt", ${SUSPECT_COLUMNS} from ${trx.stateTable('candidate')} as c
    where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)} and c.key = any(${[...keys]}::text[]))`;
}

/** Suspected returns of rows that are not live and not on the page. */
function suspectedReturns({ trx, table, scope, keys }: PageKeys): RawBuilder<unknown> {
  const type = keyTypeName(table);
  const live = sql`
    select from ${dataTable(table)} as t
    where ${inScope(table, scope)} and ${keyColumn(table)} = c.key::${type} and t._deleted_at is null offset 0`;
  return sql`(
    select c.key, null::timestamptz as "changedAt", ${SUSPECT_COLUMNS} from ${trx.stateTable('candidate')} as c
    where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)} and c.kind = 'returned'
      and c.key <> all(${[...keys]}::text[]) and not exists (${live}))`;
}

/** The keys that the proof covers; of an interval, those behind `after` in list order up to `through`, included. */
function inside(table: Table, proof: AbsenceProof): RawBuilder<unknown> {
  if (proof.kind === 'snapshot') return sql`true`;
  const { direction, after, through } = proof;
  const falling = direction === 'falling';
  const bounds: RawBuilder<unknown>[] = [];
  if (after !== null) bounds.push(sql`${place(table)} ${falling ? sql`<` : sql`>`} ${placeOf(table, after)}`);
  if (through !== null) {
    bounds.push(sql`${place(table)} ${falling ? sql`>=` : sql`<=`} ${placeOf(table, through)}`);
  }
  return bounds.length === 0 ? sql`true` : sql.join(bounds, sql` and `);
}

/** Whether `inside` covers the key. */
function covers(proof: AbsenceProof, type: KeyType, key: string): boolean {
  if (proof.kind === 'snapshot') return true;
  const { direction, after, through } = proof;
  const forward = (a: string, b: string): number =>
    compareKeys(type, a, b) * (direction === 'falling' ? -1 : 1);
  return (after === null || forward(after, key) < 0) && (through === null || forward(key, through) <= 0);
}
