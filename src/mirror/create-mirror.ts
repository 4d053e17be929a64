import type { Db } from '../db/connection/db.ts';
import { fenced } from '../db/ownership/fenced.ts';
import { sqlState } from '../db/connection/sql-state.ts';
import { COLLECTION_NAMES, type CollectionName } from '../model/collections.ts';
import type { Fence } from '../model/fence.ts';
import { applyDeletions } from './deletion/apply-deletions.ts';
import { backfill } from './columns/backfill.ts';
import { sortPage } from './rows/classify.ts';
import { contentHash, contentRule } from './rows/content-hash.ts';
import { logWalk, saveCollection } from './scope/log-walk.ts';
import type { Mirror, MirrorOptions } from './mirror.ts';
import type { PageResult, PageWrite } from './page-write.ts';
import { recordSuspects } from './deletion/save-suspects.ts';
import { RefusedItems } from './quarantine/refused-items.ts';
import { saveScope } from './scope/scope-row.ts';
import { StaleColumns } from './columns/column-registry.ts';
import { TableColumns } from './columns/table-columns.ts';
import { tableOf } from './table.ts';
import { mayBeItems } from './quarantine/write-carefully.ts';
import { NewFields } from './page/write-changed.ts';
import { type PageBefore, readBefore, writePage } from './page/write-page.ts';

/** New fields, columns changed by others, and refused values each cost one more attempt; more is a defect. */
const MAX_ATTEMPTS = 8;

/** A registered column is gone or has another type: somebody changed the table by hand. */
const TABLE_CHANGED = /^(42703|42804|42846)$/;

export function createMirror(db: Db, options: MirrorOptions): Mirror {
  const { history, gracePeriodMs, clock } = options;
  const hard = options.deletes === 'hard';
  const tables = new Map(COLLECTION_NAMES.map((name) => [name, tableState(db, options, name)]));
  const stateOfTable = (name: CollectionName): TableState => {
    const found = tables.get(name);
    if (found === undefined) throw new RangeError(`no collection named ${name}`);
    return found;
  };

  const applyPage = async (fence: Fence, write: PageWrite): Promise<PageResult> => {
    const { table, columns, rule, refused } = stateOfTable(write.scope.collection);
    const { items } = write;
    const { parent } = write.scope;
    if (write.again === true) refused.forget(parent, items);
    const hashes = write.hashes?.(rule.name, () => items.map(({ source }) => contentHash(source, rule)));
    const page = sortPage(items, rule, (item) => refused.reason(parent, item), hashes);
    let careful = false;
    let reread = false;
    for (let attempt = 1; ; attempt += 1) {
      const registry = await columns.forPage();
      try {
        const context = { table, registry, rule, history, hard, gracePeriodMs, careful, clock };
        const written = await fenced(
          db,
          fence,
          (trx, now, before: PageBefore) => writePage(trx, now, context, page, write, before),
          undefined,
          (trx) => readBefore(trx, table, page, write),
        );
        if (written.state === 'applied') refused.remember(parent, written.refused);
        return written;
      } catch (error) {
        if (attempt >= MAX_ATTEMPTS) throw error;
        if (error instanceof NewFields) await columns.add(error.fields);
        else if (error instanceof StaleColumns || (!reread && TABLE_CHANGED.test(sqlState(error) ?? ''))) {
          reread = true;
          columns.forget();
        } else if (mayBeItems(error) && !careful) careful = true;
        else throw error;
      }
    }
  };

  return {
    applyPage,
    endWalk: (fence, scope, stop, obs) =>
      fenced(db, fence, async (trx, now) => {
        if (stop.walkEnd !== undefined) await logWalk(trx, stop.walkEnd, now);
        const { userId, collection } = scope;
        if (stop.collection !== undefined) {
          await saveCollection(trx, userId, collection, stop.collection, now);
        }
        await saveScope(trx, scope, stop.scope, obs === undefined ? undefined : { after: obs }, 0, now);
      }),
    recordSuspects: (fence, scope, change, obs) =>
      fenced(db, fence, (trx, at) => recordSuspects(trx, scope, change, obs, at)),
    applyDeletions: (fence, scope, how) => applyDeletions(db, options, fence, scope, how),
    backfill: async (fence) => {
      for (const { columns } of tables.values()) await columns.addWaiting();
      return backfill(db, fence);
    },
  };
}

type TableState = ReturnType<typeof tableState>;

function tableState(db: Db, options: MirrorOptions, name: CollectionName) {
  const table = tableOf(db.schema, name);
  const rule = contentRule(options.ignoreFields[name], options.excludeFields[name]);
  return {
    table,
    columns: new TableColumns(db, table, options.schemaDrift),
    rule,
    refused: new RefusedItems(),
  };
}
