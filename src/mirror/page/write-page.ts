import { commitDurably, allSent, type Db } from '../../db/connection/db.ts';
import {
  changedRows,
  countOutcomes,
  hashesOf,
  outcomesOf,
  type SortedPage,
  withoutForgotten,
} from '../rows/classify.ts';
import { contradicting } from '../deletion/deferred.ts';
import { logWalk } from '../scope/log-walk.ts';
import { type Absence, readAbsence } from '../deletion/page-absence.ts';
import { forgottenAmong } from './forgotten-keys.ts';
import { rehashSame } from './rehash.ts';
import type { PageResult, PageWrite } from '../page-write.ts';
import { forgetUnseen, updateQuarantine } from '../quarantine/update-quarantine.ts';
import { unlessRefused } from '../quarantine/write-carefully.ts';
import { saveSuspects } from '../deletion/save-suspects.ts';
import { saveScope } from '../scope/scope-row.ts';
import { NO_ROWS_SENT, type PageContext, writeChanged } from './write-changed.ts';
import { readStoredRows, type StoredRows } from './stored-rows.ts';
import type { Table } from '../table.ts';

/** What is stored of a page and its scope. */
export interface PageBefore {
  readonly stored: StoredRows;
  /** As it is where the scope has no suspected deletions. */
  readonly absence: Absence;
}

/** Reads that, in statements that are sent together: with the fence, they take one round trip. */
export async function readBefore(
  trx: Db,
  table: Table,
  sorted: SortedPage,
  { scope, proof, items }: PageWrite,
): Promise<PageBefore> {
  const keys = sorted.keyed.map(({ key }) => key);
  const [stored, absence] = await allSent(
    readStoredRows(trx, table, scope, keys),
    readAbsence(trx, table, scope, proof, keysOf(items), false),
  );
  return { stored, absence };
}

function keysOf(items: PageWrite['items']): string[] {
  return [...new Set(items.flatMap(({ key }) => key ?? []))];
}

/**
 * Everything that a page makes true, inside the fenced transaction `trx` (docs/design/writing-a-page.md). What changes
 * rows and what is stored beside them is sent together, and its answers are awaited at the end.
 * @param before as read in this transaction
 * @param at the database's clock when the transaction got its fence
 * @throws NewFields, StaleColumns: roll back, and do what they say; Superseded, DatabaseWentBack
 */
export async function writePage(
  trx: Db,
  at: Date,
  context: PageContext,
  sorted: SortedPage,
  write: PageWrite,
  { stored, absence: plain }: PageBefore,
): Promise<PageResult> {
  const { table } = context;
  const { scope } = write;
  // COMMIT checks the rest, and names no row.
  if (context.careful) await trx.sql`set constraints all immediate`;
  const forgotten = stored.hasForgotten ? await forgottenAmong(trx, scope, write.items) : undefined;
  if (stored.gone || forgotten?.parent === true) return { state: 'parent_deleted' };
  const { page, forgotten: left } = withoutForgotten(sorted, write.items, forgotten?.keys ?? new Set());
  const absence = stored.hasSuspects
    ? await readAbsence(trx, table, scope, write.proof, keysOf(write.items), true)
    : plain;

  const sentAt = new Date(at.getTime() - (context.clock.monotonic() - write.sentAfter));
  const hashed = changedRows(page.keyed, stored.rows);
  const { rule, registry } = context;
  const rehash = () => rehashSame(trx, table, scope, hashed, stored.rows, rule, registry);
  // Where Postgres refuses to have a row rehashed in place, all are changed rows, and refused one by one.
  const same = context.careful ? await unlessRefused(trx, rehash, new Set()) : await rehash();
  const differing = hashed.filter((row) => !same.has(row));
  const early = await contradicting(trx, at, sentAt, context, write, differing, stored.rows);
  const changed = differing.filter((row) => !early.has(row));
  const { written, refused, changeId, sent } =
    changed.length === 0 ? NO_ROWS_SENT : await writeChanged(trx, at, context, scope, changed);
  // Its failure is told below, or by the first statement behind it that is awaited: then as the transaction's.
  sent.catch(() => {});
  if (stored.inQuarantine || page.bad.length > 0) await sent;
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
  const counts = countOutcomes(outcomes);
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
    await sent;
    // A crash that takes back only the sighting would leave a live row suspected, one proof away from deletion.
    if (change.withdraw.length > 0) await commitDurably(trx);
    await saveSuspects(trx, scope, change, write.obs, at, stored.hasSuspects);
  }
  if (decision.unseen !== undefined && stored.inQuarantine) {
    await forgetUnseen(trx, scope, decision.unseen);
  }
  const also = write.alsoInTransaction?.(trx);
  const log = decision.walkEnd === undefined ? undefined : logWalk(trx, decision.walkEnd, at);
  const saved = saveScope(trx, scope, decision.scope, write, counts.inserted + counts.undeleted, at);
  await allSent(sent, also, log, saved);
  return { state: 'applied', outcomes, counts, decision, changed: changeId, refused };
}

/** Keys of the items that are mirrored now, unchanged ones too. */
function goodKeys(page: SortedPage, others: readonly { readonly index: number }[]): string[] {
  const not = new Set(others.map(({ index }) => index));
  return page.keyed.filter(({ index }) => !not.has(index)).map(({ key }) => key);
}
