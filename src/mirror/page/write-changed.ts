import { allSent, type Db } from '../../db/connection/db.ts';
import { sendChangeIds } from '../../db/ownership/change-ids.ts';
import type { Scope } from '../../model/collections.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import type { SeenFields } from '../columns/table-columns.ts';
import { type ColumnRegistry, StaleColumns, tableVersion } from '../columns/column-registry.ts';
import { storableName } from '../columns/column-plan.ts';
import type { BadItem, ChangedTable } from '../page-write.ts';
import { writeCarefully } from '../quarantine/write-carefully.ts';
import type { ChangedRow } from '../rows/classify.ts';
import type { ContentRule } from '../rows/content-hash.ts';
import { countConflicts, countRows } from '../rows/counters.ts';
import { rowContent, type RowPayload } from '../rows/row-payload.ts';
import { recordUnfinished } from '../rows/unfinished.ts';
import { type RowWrite, writeRows } from '../rows/write-rows.ts';
import { markChildrenDue } from '../scope/scope-row.ts';
import type { Table } from '../table.ts';

/** The page has fields without column: add the columns, and write the page again. */
export class NewFields extends Error {
  readonly fields: SeenFields;
  constructor(fields: SeenFields) {
    super(`new fields: ${[...fields.keys()].join(', ')}`);
    this.fields = fields;
  }
}

/** What a page is written with. */
export interface PageContext {
  readonly table: Table;
  readonly registry: ColumnRegistry;
  readonly rule: ContentRule;
  /** Superseded versions are kept. */
  readonly history: boolean;
  /** Deleted rows are removed. */
  readonly hard: boolean;
  /** Least time between two observations that contradict a third, milliseconds. */
  readonly gracePeriodMs: number;
  /** Postgres refused some rows of this page: find them, one by one. */
  readonly careful: boolean;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** What was sent of a page's changed rows. */
export interface SentRows {
  readonly written: readonly ChangedRow[];
  readonly refused: readonly BadItem[];
  readonly changeId: ChangedTable | undefined;
  /** Resolves once Postgres has written them: it is told here what it refuses. */
  readonly sent: Promise<unknown>;
}

export const NO_ROWS_SENT: SentRows = {
  written: [],
  refused: [],
  changeId: undefined,
  sent: Promise.resolve(),
};

/**
 * Sends a page's changed rows and what follows from them, all together: `sent` tells how that went.
 * @throws NewFields, StaleColumns
 */
export async function writeChanged(
  trx: Db,
  at: Date,
  context: PageContext,
  scope: Scope,
  changed: readonly ChangedRow[],
): Promise<SentRows> {
  const { table, registry, rule, careful } = context;
  const payloads = changed.map((row) => ({
    row,
    ...rowContent(row, rule.exclude, table.name, registry.columns),
  }));
  const unknown = newFields(payloads, registry);
  if (unknown.size > 0) throw new NewFields(unknown);
  const version = sameColumns(trx, table, registry);
  const { before, stored } = sendChangeIds(trx, scope.userId, payloads.length);
  const archived = context.history ? registry.archived : undefined;
  const rowWrite: RowWrite = { table, scope, columns: registry.columns, at, archived };
  const begun = allSent(version, stored);
  begun.catch(() => {});
  let refused: BadItem[] = [];
  let rows: Promise<void> | undefined;
  if (careful) {
    await begun;
    refused = await writeCarefully(trx, rowWrite, payloads, before);
  } else rows = writeRows(trx, rowWrite, payloads, before);

  const refusedAt = new Set(refused.map(({ index }) => index));
  const written = payloads.filter(({ row }) => !refusedAt.has(row.index));
  const sent = allSent(begun, rows, followUp(trx, at, scope, written));
  const last = payloads.findLastIndex(({ row }) => !refusedAt.has(row.index));
  return {
    written: written.map(({ row }) => row),
    refused,
    sent,
    changeId:
      last === -1
        ? undefined
        : { table: table.name, userId: scope.userId, changeId: String(before + BigInt(last) + 1n) },
  };
}

async function sameColumns(trx: Db, table: Table, { version }: ColumnRegistry): Promise<void> {
  if ((await tableVersion(trx, table)) !== version) throw new StaleColumns();
}

/** What follows from written rows: counters, unfinished rows, scopes of lists that are due. */
async function followUp(trx: Db, at: Date, scope: Scope, written: readonly RowPayload[]): Promise<void> {
  const rows = written.map(({ row }) => row);
  const undeleted = rows.filter(({ change }) => change === 'undeleted').length;
  const inserted = rows.filter(({ change }) => change === 'inserted').length;
  const counted =
    inserted + undeleted === 0 ? undefined : countRows(trx, scope, inserted + undeleted, -undeleted);
  const conflicting = countConflicts(trx, scope, countFields(written), at);
  const unfinished = recordUnfinished(trx, scope, rows, at);
  const keys = rows.map(({ key }) => key);
  await allSent(counted, conflicting, unfinished, markChildrenDue(trx, scope, keys, at));
}

function countFields(rows: readonly RowPayload[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const field of rows.flatMap(({ conflicts }) => conflicts)) {
    counts.set(field, (counts.get(field) ?? 0) + 1);
  }
  return counts;
}

/** Most registered fields of a collection: items that use names as data would fill the registry. */
const MAX_FIELDS = 2000;

/** Fields of changed rows that are not registered, with their values; nulls decide nothing. */
export function newFields(
  rows: readonly Pick<RowPayload, 'fields'>[],
  registry: Pick<ColumnRegistry, 'fields'>,
): SeenFields {
  const found = new Map<string, string[]>();
  for (const { fields } of rows) {
    for (const [field, value] of fields) {
      if (registry.fields.has(field) || value === 'null' || !storableName(field)) continue;
      const values = found.get(field);
      if (values !== undefined) values.push(value);
      else if (registry.fields.size + found.size < MAX_FIELDS) found.set(field, [value]);
    }
  }
  return found;
}
