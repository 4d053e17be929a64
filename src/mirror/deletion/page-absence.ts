import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { SuspectedDeletion, MissingRow, AbsenceProof } from '../../model/absence.ts';
import type { KeyType, Scope } from '../../model/collections.ts';
import { compareKeys } from '../../model/key.ts';
import { toSuspect, SUSPECT_COLUMNS, type SuspectRow, candidateInScope } from './suspects.ts';
import { keyColumn, place, placeOf, placeOrder } from '../rows/key-order.ts';
import { MAX_MISSING } from './missing-rows.ts';
import { inScope, keyTypeName, dataTable, type Table } from '../table.ts';

/** What a page says of rows that it does not hold, and the rows in doubt that it says something of. */
export interface Absence {
  /** In key order, `MAX_MISSING` at most. */
  readonly missing: readonly MissingRow[];
  readonly suspects: readonly SuspectedDeletion[];
  /** Deleted rows that an earlier page showed too soon to be believed, and that this one proves absent: they are. */
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
  /** The scope has candidates. */
  readonly inDoubt: boolean;
}

/** A missing row, a candidate, or a missing row that is one. */
interface AbsenceRow {
  readonly key: string;
  /** Null where it is not missing. */
  readonly changed_at: Date | null;
  readonly kind: SuspectRow['kind'] | null;
  readonly obs: string | null;
  readonly at: Date | null;
  readonly served_at: Date | null;
  readonly proven: boolean | null;
}

/** Missing rows read by one statement, so that none exceeds its bound. */
const BATCH = 20_000;

/**
 * The live rows that a page proves absent, and the candidates among them and the page's keys: one statement (unless
 * very many rows are missing), and none for a page that can say nothing.
 * @param keys of all the page's items, those in quarantine too: they are there
 * @param inDoubt the scope has candidates
 */
export async function readAbsence(
  trx: Db,
  table: Table,
  scope: Scope,
  proof: AbsenceProof | undefined,
  keys: readonly string[],
  inDoubt: boolean,
): Promise<Absence> {
  if (table.key === undefined || (proof === undefined && !inDoubt)) return NO_ABSENCE;
  const { type } = table.key;
  const page: PageKeys = { trx, table, scope, keys, inDoubt };
  const parts: RawBuilder<unknown>[] = [];
  if (proof !== undefined) parts.push(missingRows(page, proof, null));
  if (inDoubt) parts.push(suspectsOnPage(page));
  if (inDoubt && proof !== undefined) parts.push(unbelieved(page));
  const { rows: first } = await sql<AbsenceRow>`${sql.join(parts, sql` union all `)}`.execute(trx);
  const rows = proof === undefined ? first : first.concat(await furtherMissing(page, proof, type, first));
  const onPage = new Set(keys);
  return {
    missing: rows.flatMap(({ key, changed_at: at }) =>
      at === null ? [] : [{ key, changedAt: at.getTime() }],
    ),
    suspects: rows.flatMap(({ key, kind, obs, at, served_at, proven }) =>
      kind === null || obs === null || at === null
        ? []
        : [toSuspect({ key, kind, obs, at, served_at, proven: proven === true })],
    ),
    refuted: rows.flatMap(({ key, changed_at: changedAt }) =>
      proof !== undefined && changedAt === null && !onPage.has(key) && covers(proof, type, key) ? [key] : [],
    ),
  };
}

/** Missing rows behind a first batch that is full, a statement each batch. */
async function furtherMissing(
  page: PageKeys,
  proof: AbsenceProof,
  type: KeyType,
  first: readonly AbsenceRow[],
): Promise<AbsenceRow[]> {
  const further: AbsenceRow[] = [];
  let batch = first.filter((row) => row.changed_at !== null);
  while (batch.length === BATCH && BATCH + further.length < MAX_MISSING) {
    const last = batch.map(({ key }) => key).reduce((a, b) => (compareKeys(type, a, b) < 0 ? b : a));
    batch = (await sql<AbsenceRow>`${missingRows(page, proof, last)}`.execute(page.trx)).rows;
    for (const row of batch) further.push(row);
  }
  return further;
}

/** The first `BATCH` missing rows behind `last` in key order. */
function missingRows(
  { trx, table, scope, keys, inDoubt }: PageKeys,
  proof: AbsenceProof,
  last: string | null,
): RawBuilder<unknown> {
  const key = keyColumn(table);
  const type = keyTypeName(table);
  const behind = last === null ? sql`true` : sql`${place(table)} > ${placeOf(table, last)}`;
  const columns = inDoubt
    ? SUSPECT_COLUMNS
    : sql`null::text as kind, null::bigint as obs, null::timestamptz as at, null::timestamptz as served_at,
        null::boolean as proven`;
  // One look into the candidates' key for each row: a join without statistics may read all of them for each.
  const suspects = inDoubt
    ? sql`left join lateral (
        select c.* from ${trx.stateTable('candidate')} as c
        where c._user_id = ${scope.userId}::bigint and ${candidateInScope(scope)} and c.key = ${key}::text offset 0) as c on true`
    : sql``;
  return sql`(
    select ${key}::text as key, t._changed_at as changed_at, ${columns}
    from ${dataTable(table)} as t ${suspects}
    where ${inScope(table, scope)} and ${inside(table, proof)} and ${behind} and t._deleted_at is null
      and ${key} <> all(${[...keys]}::${type}[])
    order by ${placeOrder(table, 'up')} limit ${BATCH})`;
}

function suspectsOnPage({ trx, scope, keys }: PageKeys): RawBuilder<unknown> {
  return sql`(
    select c.key, null::timestamptz as changed_at, ${SUSPECT_COLUMNS} from ${trx.stateTable('candidate')} as c
    where c._user_id = ${scope.userId}::bigint and ${candidateInScope(scope)} and c.key = any(${[...keys]}::text[]))`;
}

/** Candidates of rows that are not live and not on the page. */
function unbelieved({ trx, table, scope, keys }: PageKeys): RawBuilder<unknown> {
  const type = keyTypeName(table);
  const live = sql`
    select from ${dataTable(table)} as t
    where ${inScope(table, scope)} and ${keyColumn(table)} = c.key::${type} and t._deleted_at is null offset 0`;
  return sql`(
    select c.key, null::timestamptz as changed_at, ${SUSPECT_COLUMNS} from ${trx.stateTable('candidate')} as c
    where c._user_id = ${scope.userId}::bigint and ${candidateInScope(scope)} and c.kind = 'returned' and c.key <> all(${[...keys]}::text[]) and not exists (${live}))`;
}

/** The keys that the proof tells of: of an interval, those behind `after` in list order, `through` included. */
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

/** As `inside`, for one key. */
function covers(proof: AbsenceProof, type: KeyType, key: string): boolean {
  if (proof.kind === 'snapshot') return true;
  const { direction, after, through } = proof;
  const forward = (a: string, b: string): number =>
    compareKeys(type, a, b) * (direction === 'falling' ? -1 : 1);
  return (after === null || forward(after, key) < 0) && (through === null || forward(key, through) <= 0);
}
