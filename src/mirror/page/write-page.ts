import type { Db } from '../../db/connection/db.ts';
import { takeChangeIds } from '../../db/ownership/change-ids.ts';
import { commitDurably } from '../../db/connection/durable-commit.ts';
import type { Scope } from '../../model/collections.ts';
import { stateOf } from '../../model/row-state.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import {
  changedRows,
  type ChangedRow,
  countOutcomes,
  hashesOf,
  outcomesOf,
  type SortedPage,
  withoutForgotten,
} from '../rows/classify.ts';
import { type ColumnRegistry, StaleColumns, tableVersion } from '../columns/column-registry.ts';
import type { ContentRule } from '../rows/content-hash.ts';
import { countConflicts, countRows } from '../rows/counters.ts';
import { contradicting } from '../deletion/deferred.ts';
import { logWalk } from '../scope/log-walk.ts';
import type { SeenFields } from '../columns/add-columns.ts';
import { readAbsence } from '../deletion/page-absence.ts';
import { forgottenAmong, NONE_FORGOTTEN } from '../forgotten/forgotten-keys.ts';
import { rehashSame } from './rehash.ts';
import { newFields } from '../columns/new-fields.ts';
import type { ChangedTable, PageResult, PageWrite, RefusedItem } from '../page-write.ts';
import { updateQuarantine } from '../quarantine/update-quarantine.ts';
import { forgetUnseen } from '../quarantine/update-quarantine.ts';
import { rowPayload, type RowPayload } from '../rows/row-payload.ts';
import { saveSuspects } from '../deletion/save-suspects.ts';
import { markChildrenDue, saveScope } from '../scope/scope-row.ts';
import { readStoredRows } from './stored-rows.ts';
import type { Table } from '../table.ts';
import { recordUnfinished } from '../rows/unfinished.ts';
import { writeCarefully } from '../quarantine/write-carefully.ts';
import { type RowWrite, writeRows } from '../rows/write-rows.ts';

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

/**
 * Everything that a page makes true, inside the fenced transaction `trx` (docs/design/writing-a-page.md).
 * @param at the database's clock when the transaction got its fence
 * @throws NewFields, StaleColumns: roll back, and do what they say; Superseded, DatabaseWentBack
 */
export async function writePage(
  trx: Db,
  at: Date,
  context: PageContext,
  sorted: SortedPage,
  write: PageWrite,
): Promise<PageResult> {
  const { table } = context;
  const { scope } = write;
  const stored = await readStoredRows(
    trx,
    table,
    scope,
    sorted.keyed.map(({ key }) => key),
  );
  const forgotten = stored.hasForgotten ? await forgottenAmong(trx, scope, write.items) : NONE_FORGOTTEN;
  if (stored.gone || forgotten.parent) return { state: 'parent_deleted' };
  const { page, forgotten: left } = withoutForgotten(sorted, write.items, forgotten.keys);
  const keys = new Set(write.items.flatMap(({ key }) => key ?? []));
  const absence = await readAbsence(trx, table, scope, write.proof, [...keys], stored.hasSuspects);

  const sentAt = new Date(at.getTime() - (context.clock.monotonic() - write.sentAfter));
  const hashed = changedRows(page.keyed, stored.rows);
  const { rule, registry } = context;
  const same = await rehashSame(trx, table, scope, hashed, stored.rows, rule, registry);
  const differing = hashed.filter((row) => !same.has(row));
  const early = await contradicting(trx, table, scope, differing, stored.rows, {
    graceStart: new Date(sentAt.getTime() - context.gracePeriodMs),
    history: context.history,
    hard: context.hard,
    ...(write.copy === undefined ? {} : { copy: { madeAt: sentAt, ...write.copy } }),
  });
  const changed = differing.filter((row) => !early.has(row));
  const { written, refused, conflicts, changeId } =
    changed.length === 0 ? NOTHING : await writeChanged(trx, at, context, scope, changed);
  const good = stored.inQuarantine ? goodKeys(page, [...early, ...refused]) : [];
  const quarantined = await updateQuarantine(trx, scope, {
    items: write.items,
    bad: [...page.bad, ...refused],
    good,
    where: write.where,
    exclude: rule.exclude,
    at: sentAt,
    gracePeriodMs: context.gracePeriodMs,
    some: stored.inQuarantine,
  });

  const outcomes = outcomesOf(write.items.length, page, written, [...early], refused, left);
  const counts = countOutcomes(outcomes, conflicts);
  const { missing, suspects } = absence;
  // A copy may be older than the page that showed these rows.
  const refuted = write.copy === undefined ? absence.refuted : [];
  const decision = write.decide({
    outcomes,
    counts,
    at,
    sentAt,
    hashes: hashesOf(write.items.length, page),
    missing,
    suspects,
    quarantined,
  });
  if (decision.suspectChange !== undefined) {
    const change = { ...decision.suspectChange, withdraw: [...decision.suspectChange.withdraw, ...refuted] };
    const suspectChange = { change, obs: write.obs, at, hasSuspects: stored.hasSuspects };
    // A crash that takes back only the sighting would leave a live row suspected, one proof away from deletion.
    if (change.withdraw.length > 0) await commitDurably(trx);
    await saveSuspects(trx, scope, suspectChange);
  }
  if (decision.unseen !== undefined && stored.inQuarantine) {
    await forgetUnseen(trx, scope, decision.unseen);
  }
  await write.alsoInTransaction?.(trx);
  if (decision.walkEnd !== undefined) await logWalk(trx, decision.walkEnd, at);
  await saveScope(trx, scope, decision.scope, write, counts.inserted + counts.undeleted);
  return { state: 'applied', outcomes, counts, at, decision, changed: changeId, refused };
}

/** Keys of the items that are mirrored now, unchanged ones too. */
function goodKeys(page: SortedPage, others: readonly { readonly index: number }[]): string[] {
  const not = new Set(others.map(({ index }) => index));
  return page.keyed.filter(({ index }) => !not.has(index)).map(({ key }) => key);
}

interface WrittenRows {
  readonly written: readonly ChangedRow[];
  readonly refused: readonly RefusedItem[];
  readonly conflicts: number;
  readonly changeId: ChangedTable | undefined;
}

const NOTHING: WrittenRows = { written: [], refused: [], conflicts: 0, changeId: undefined };

async function writeChanged(
  trx: Db,
  at: Date,
  context: PageContext,
  scope: Scope,
  changed: readonly ChangedRow[],
): Promise<WrittenRows> {
  const { table, registry, careful } = context;
  const payloads = changed.map((row) => rowPayload(row, context.rule.exclude, table.name, registry.columns));
  const unknown = newFields(payloads, registry);
  if (unknown.size > 0) throw new NewFields(unknown);
  if ((await tableVersion(trx, table)) !== registry.version) throw new StaleColumns();

  const before = await takeChangeIds(trx, scope.userId, payloads.length);
  const archived = context.history ? registry.archived : undefined;
  const rowWrite: RowWrite = { table, scope, columns: registry.columns, at, archived };
  let refused: RefusedItem[] = [];
  if (careful) refused = await writeCarefully(trx, rowWrite, payloads, before);
  else await writeRows(trx, rowWrite, payloads, before);

  const refusedAt = new Set(refused.map(({ index }) => index));
  const written = payloads.filter(({ row }) => !refusedAt.has(row.index));
  await followUp(trx, at, scope, written);
  const last = payloads.findLastIndex(({ row }) => !refusedAt.has(row.index));
  return {
    written: written.map(({ row }) => row),
    refused,
    conflicts: written.reduce((sum, row) => sum + row.conflicts.length, 0),
    changeId:
      last === -1
        ? undefined
        : { table: table.name, userId: scope.userId, changeId: String(before + BigInt(last) + 1n) },
  };
}

/** What follows from written rows: counters, unfinished rows, scopes of lists that are due. */
async function followUp(trx: Db, at: Date, scope: Scope, written: readonly RowPayload[]): Promise<void> {
  const rows = written.map(({ row }) => row);
  const undeleted = rows.filter(({ change }) => change === 'undeleted').length;
  const inserted = rows.filter(({ change }) => change === 'inserted').length;
  if (inserted + undeleted > 0) await countRows(trx, scope, inserted + undeleted, -undeleted);
  await countConflicts(trx, scope, countFields(written), at);
  const stated = rows.map((row) => ({ row, state: stateOf(row.item) }));
  await recordUnfinished(trx, scope, stated, at);
  const keys = rows.map(({ key }) => key);
  await markChildrenDue(trx, scope, keys, at);
}

function countFields(rows: readonly RowPayload[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const field of rows.flatMap(({ conflicts }) => conflicts)) {
    counts.set(field, (counts.get(field) ?? 0) + 1);
  }
  return counts;
}
