/** The one path by which rows change: all methods write in fenced transactions. The steps of a page: write-page.ts. */

import type { Db } from '../postgres/db.ts';
import { type Fence, fenced } from '../postgres/fenced.ts';
import type { Operator } from '../postgres/operator-log.ts';
import { sqlState } from '../postgres/sql-state.ts';
import { COLLECTION_NAMES, type CollectionName, type Scope } from '../model/collections.ts';
import type { SuspectChange } from '../model/absence.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { Privacy, type PrivacySettings } from '../model/privacy.ts';
import type { CollectionChange, WalkEnd } from '../model/sync-events.ts';
import { applyDeletions, type DeletionResult } from './apply-deletions.ts';
import { backfill } from './backfill.ts';
import { contentHash, type ContentRule, contentRule, sortPage } from './page-record.ts';
import { logWalk, saveCollection } from './sync-log.ts';
import type { PageRecord, PageResult, ScopeChange } from './page-record.ts';
import { recordSuspects } from './suspect-store.ts';
import { saveScope } from './scope-store.ts';
import type { SchemaDrift } from './columns.ts';
import { StaleColumns } from './columns.ts';
import { TableColumns } from './table-columns.ts';
import { type Table, tableOf } from './table.ts';
import { mayBeItems } from './write-carefully.ts';
import { NewFields } from './write-changed.ts';
import { type PageBefore, readBefore, writePage } from './write-page.ts';

/** Attempts to write a page: new fields, columns changed by others and refused values cost one each. */
const MAX_ATTEMPTS = 8;

/** SQL states if a registered column is gone or has another type: the table was changed by hand. */
const TABLE_CHANGED = /^(42703|42804|42846)$/;

export interface MirrorOptions {
  readonly schemaDrift: SchemaDrift;
  /** `MIRROR_IGNORE_FIELDS`: fields whose change alone is no change. */
  readonly ignoreFields: Readonly<Record<CollectionName, readonly string[]>>;
  /** `MIRROR_EXCLUDE_FIELDS`: never stored. */
  readonly excludeFields: PrivacySettings['excludeFields'];
  /** `MIRROR_HASH_FIELDS`: items have hashes of them instead. */
  readonly hashFields?: PrivacySettings['hashFields'];
  readonly hashKey?: PrivacySettings['hashKey'];
  /** `MIRROR_SETTLE`, ms: least time between two observations that contradict a third. */
  readonly gracePeriodMs: number;
  /** `MIRROR_DELETES`. */
  readonly deletes: 'soft' | 'hard';
  /** `MIRROR_HISTORY`: superseded versions are kept. */
  readonly history: boolean;
  /** The clock of `PageRecord.sentAfter`. */
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** What counts as content of a collection's items, and what remains of stored ones. */
export function ruleOf(
  name: CollectionName,
  options: Pick<MirrorOptions, 'ignoreFields' | 'excludeFields' | 'hashFields' | 'hashKey'>,
): ContentRule {
  const privacy = new Privacy(options);
  return contentRule(options.ignoreFields[name], options.excludeFields[name], privacy.hashRule(name), (source) =>
    privacy.item(name, source, true),
  );
}

/** The one path by which rows change (docs/design/writing-a-page.md, "One path"). */
export class Mirror {
  readonly #db: Db;
  readonly #options: MirrorOptions;
  readonly #tables: ReadonlyMap<CollectionName, Readonly<{ table: Table; columns: TableColumns; rule: ContentRule }>>;

  constructor(db: Db, options: MirrorOptions) {
    this.#db = db;
    this.#options = options;
    const { schemaDrift } = options;
    const stateOf = (name: CollectionName) => {
      const table = tableOf(db.schema, name);
      const rule = ruleOf(name, options);
      return { table, columns: new TableColumns(db, table, schemaDrift), rule };
    };
    this.#tables = new Map(COLLECTION_NAMES.map((name) => [name, stateOf(name)]));
  }

  /**
   * Writes a page in one fenced transaction (invariant 1). An unchanged page writes only its scope's row.
   * @throws Superseded if a later observation of the scope is committed, DatabaseWentBack if an earlier one is:
   *   nothing is written; errors of `fenced`
   */
  async applyPage(fence: Fence, record: PageRecord): Promise<PageResult> {
    const found = this.#tables.get(record.scope.collection);
    if (found === undefined) throw new RangeError(`no collection named ${record.scope.collection}`);
    const { table, columns, rule } = found;
    const { history, gracePeriodMs, clock } = this.#options;
    const hard = this.#options.deletes === 'hard';
    const items = record.page?.items ?? [];
    const hashes = record.page?.hashes?.(rule.name, () => items.map(({ source }) => contentHash(source, rule)));
    const page = sortPage(items, rule, hashes);
    let careful = false;
    let reread = false;
    for (let attempt = 1; ; attempt += 1) {
      const registry = await columns.forPage();
      try {
        const context = { table, registry, rule, history, hard, gracePeriodMs, careful, clock };
        return await fenced(
          this.#db,
          fence,
          (trx, now, before: PageBefore) => writePage(trx, now, context, page, record, before),
          undefined,
          (trx) => readBefore(trx, table, page, record),
        );
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
  }

  /**
   * Changes the scope's suspected deletions after a whole walk (docs/design/deletions.md, "P2").
   * @param obs number of the last committed observation, on which the change rests
   * @throws Superseded, DatabaseWentBack: nothing is written
   */
  recordSuspects(fence: Fence, scope: Scope, change: SuspectChange, obs: number): Promise<void> {
    return fenced(this.#db, fence, (trx, at) => recordSuspects(trx, scope, change, obs, at));
  }

  /**
   * Deletes the scope's proven suspects unless the brake blocks that. `data_quality` shows what is blocked and what is
   * still suspected. A list is deleted with its items, in one transaction unless it has very many.
   * @param options.accept who lifts the brake
   * @param options.obs number of the scope's last committed observation as its reader knows it
   * @throws Superseded, DatabaseWentBack: nothing more is deleted
   */
  applyDeletions(
    fence: Fence,
    scope: Scope,
    options: { readonly accept: Operator | false; readonly obs: number },
  ): Promise<DeletionResult> {
    return applyDeletions(this.#db, this.#options, fence, scope, options);
  }

  /**
   * Stores the end of a walk without a page: a failure, a stop, an end without an answer.
   * @param stop.collection changes of the collection's freshness, in addition to those of `walkEnd`
   * @param obs number of the scope's last committed observation as its reader knows it; undefined: it rests on none
   * @throws Superseded, DatabaseWentBack: nothing is stored
   */
  endWalk(
    fence: Fence,
    scope: Scope,
    stop: Readonly<{ scope: ScopeChange; walkEnd?: WalkEnd; collection?: CollectionChange }>,
    obs: number | undefined,
  ): Promise<void> {
    return fenced(this.#db, fence, async (trx, now) => {
      if (stop.walkEnd !== undefined) await logWalk(trx, stop.walkEnd, now);
      const { userId, collection } = scope;
      if (stop.collection !== undefined) await saveCollection(trx, userId, collection, stop.collection, now);
      await saveScope(trx, scope, stop.scope, obs === undefined ? undefined : { after: obs }, 0, now);
    });
  }

  /**
   * Adds columns that fields still wait for, and fills one batch of a late column from `_raw`: without history,
   * `_changed_at` or `_change_id`. Called while the account is idle.
   * @returns true while there is more to fill
   */
  async backfill(fence: Fence): Promise<boolean> {
    for (const { columns } of this.#tables.values()) await columns.addWaiting();
    return backfill(this.#db, fence);
  }
}
