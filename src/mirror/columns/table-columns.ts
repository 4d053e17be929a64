import type { Db } from '../../db/connection/db.ts';
import { sqlState } from '../../db/connection/sql-state.ts';
import { addColumns, registerOnly, type SeenFields } from './add-columns.ts';
import { followColumns } from './follow-columns.ts';
import { type ColumnRegistry, readRegistry } from './column-registry.ts';
import { MAX_COLUMNS } from './column-plan.ts';
import type { Table } from '../table.ts';

/** Most pages between two tries to add columns to a table that stays locked. */
const MAX_PAGES_BETWEEN = 256;

const LOCK_NOT_AVAILABLE = '55P03';
/** A program of 0.2.0, which takes no turns with this one, has just made it. */
const DUPLICATE_COLUMN = '42701';

/** The columns of one table, as this process knows them. */
export class TableColumns {
  readonly #db: Db;
  readonly #table: Table;
  readonly #drift: 'add' | 'raw';
  #registry: ColumnRegistry | undefined;
  #stale = false;
  #pagesToTry = 0;
  #pagesBetween = 1;

  constructor(db: Db, table: Table, drift: 'add' | 'raw') {
    this.#db = db;
    this.#table = table;
    this.#drift = drift;
  }

  /** What is known, for the next page. Fields that wait for a column get one here when the next try is due. */
  async forPage(): Promise<ColumnRegistry> {
    if (this.#stale) await followColumns(this.#db);
    this.#stale = false;
    this.#registry ??= await readRegistry(this.#db, this.#table);
    if (!this.#mayAdd(this.#registry)) return this.#registry;
    this.#pagesToTry -= 1;
    return this.#pagesToTry > 0 ? this.#registry : this.add(new Map());
  }

  /** Tries to make the columns that fields wait for, whether or not the next try is due. */
  async addWaiting(): Promise<void> {
    if (this.#registry !== undefined && this.#mayAdd(this.#registry)) await this.add(new Map());
  }

  /** Makes columns for `seen`. While others lock the table, it registers the fields, and they wait. */
  async add(seen: SeenFields): Promise<ColumnRegistry> {
    try {
      await addColumns(this.#db, this.#table, seen, this.#drift);
      this.#pagesBetween = 1;
    } catch (error) {
      if (![LOCK_NOT_AVAILABLE, DUPLICATE_COLUMN].includes(sqlState(error) ?? '')) throw error;
      await registerOnly(this.#db, this.#table, seen);
      this.#pagesBetween = Math.min(MAX_PAGES_BETWEEN, this.#pagesBetween * 2);
      this.#pagesToTry = this.#pagesBetween;
    }
    this.#registry = await readRegistry(this.#db, this.#table);
    return this.#registry;
  }

  /** Forgets what is known, because it was wrong: the next page reads it again, and has others know it. */
  forget(): void {
    this.#stale = true;
    this.#registry = undefined;
  }

  #mayAdd(registry: ColumnRegistry): boolean {
    return this.#drift === 'add' && registry.waiting.length > 0 && registry.taken.size < MAX_COLUMNS;
  }
}
