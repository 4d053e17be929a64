import { mkdirSync, readdirSync } from 'node:fs';
import { getBuiltinModule } from 'node:process';
import type { DatabaseSync, StatementSync } from 'node:sqlite';

/**
 * Texts by key that are remembered while something runs, however many there are. What was lost (the disk is full,
 * `close` was called) is never partly there: `lost` says so, and nothing else that it answers means anything.
 */
export interface KeptKeys {
  readonly lost: boolean;
  /** How many keys there are. */
  readonly size: number;
  /**
   * Keeps the value under a new key.
   * @returns the value that the key has already, and keeps; undefined: the key is new
   */
  keep(key: string, value: string): string | undefined;
  has(key: string): boolean;
  /** Forgets everything, and frees what it took. */
  close(): void;
}

/** Makes them. */
export interface KeyStore {
  open(): KeptKeys;
}

export interface KeyStoreOptions {
  /** Where the file goes that takes what is too much for memory: the first of them that can be written. */
  readonly folders: readonly string[];
  /** Bytes that all of them together may take; default 8 GiB, some 80,000,000 keys. */
  readonly mostBytes?: number;
  /** They can't be kept, for example because the disk is full. Told once until they could again. */
  readonly onLost: (error: unknown) => void;
}

const MOST_BYTES = 8 * 2 ** 30;
/** What stays in memory, some 50,000 keys; the rest is in the file. */
const CACHE_KIB = 4096;
const PAGE_BYTES = 4096;
/** How many a map keeps. More get a table: each new table costs a look at all there are, so few shall have one. */
const FEW = 2_000;

/** The tables of everything that is open at the same time. */
interface Scratch {
  readonly database: DatabaseSync;
  users: number;
}

/** The table of who keeps them. */
interface KeyTable {
  readonly scratch: Scratch;
  readonly insert: StatementSync;
  readonly select: StatementSync;
  readonly drop: () => void;
}

/** One temporary database of SQLite for all: it spills into a file that has no name, so a kill leaves nothing. */
export function keyStore({ folders, mostBytes = MOST_BYTES, onLost }: KeyStoreOptions): KeyStore {
  let opened = 0;
  let scratch: Scratch | undefined;
  let told = false;
  const makeTable = (name: string): KeyTable => {
    if (scratch?.database.isOpen !== true) scratch = openScratch(folders, mostBytes);
    const { database } = scratch;
    database.exec(`create table ${name} (key text primary key, value text not null) without rowid`);
    scratch.users += 1;
    told = false;
    return {
      scratch,
      insert: database.prepare(`insert or ignore into ${name} values (?, ?)`),
      select: database.prepare(`select value from ${name} where key = ?`),
      // Its pages come free together: to delete rows takes a second for each million.
      drop: () => database.exec(`drop table ${name}`),
    };
  };
  const failed = (error: unknown): void => {
    if (!told) onLost(error);
    told = true;
  };
  const open = (): KeptKeys => {
    opened += 1;
    const name = `kept_${opened}`;
    return new Keys(() => makeTable(name), failed);
  };
  return { open };
}

class Keys implements KeptKeys {
  readonly #makeTable: () => KeyTable;
  readonly #failed: (error: unknown) => void;
  readonly #few = new Map<string, string>();
  /** Undefined while they are few. */
  #table: KeyTable | undefined;
  #inTable = 0;
  #closed = false;

  constructor(makeTable: () => KeyTable, failed: (error: unknown) => void) {
    this.#makeTable = makeTable;
    this.#failed = failed;
  }

  get lost(): boolean {
    return this.#closed || this.#table?.scratch.database.isOpen === false;
  }

  get size(): number {
    return this.lost ? 0 : this.#few.size + this.#inTable;
  }

  keep(key: string, value: string): string | undefined {
    return this.#try(() => {
      if (this.#table !== undefined) return this.#insert(this.#table, key, value);
      const kept = this.#few.get(key);
      if (kept !== undefined) return kept;
      this.#few.set(key, value);
      if (this.#few.size > FEW) this.#moveToTable();
      return undefined;
    });
  }

  has(key: string): boolean {
    return this.#few.has(key) || this.#try(() => this.#table?.select.get(key)) !== undefined;
  }

  #moveToTable(): void {
    this.#table = this.#makeTable();
    for (const [key, value] of this.#few) this.#insert(this.#table, key, value);
    this.#few.clear();
  }

  #insert({ insert, select }: KeyTable, key: string, value: string): string | undefined {
    if (insert.run(key, value).changes === 0) return (select.get(key) as { value: string }).value;
    this.#inTable += 1;
    return undefined;
  }

  close(): void {
    this.#try(() => {
      if (this.#table === undefined) return;
      const { scratch, drop } = this.#table;
      scratch.users -= 1;
      if (scratch.users === 0) scratch.database.close();
      else drop();
    });
    this.#few.clear();
    this.#closed = true;
  }

  /** Who can't write has lost what all have. */
  #try<T>(act: () => T): T | undefined {
    if (this.lost) return undefined;
    try {
      return act();
    } catch (error) {
      this.#few.clear();
      this.#closed = true;
      this.#table?.scratch.database.close();
      this.#failed(error);
      return undefined;
    }
  }
}

/** No journal, nothing synced, one transaction that never ends. @throws where none can be made */
function openScratch(folders: readonly string[], mostBytes: number): Scratch {
  // Loaded here: few programs need it.
  const { DatabaseSync: Database } = getBuiltinModule('node:sqlite');
  const database = new Database('');
  try {
    spillInto(database, folders);
    database.exec(
      `pragma journal_mode = off; pragma synchronous = off; pragma page_size = ${PAGE_BYTES};
       pragma cache_size = -${CACHE_KIB}; pragma max_page_count = ${Math.ceil(mostBytes / PAGE_BYTES)}; begin`,
    );
    return { database, users: 0 };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** @throws the last folder's error where none can be written */
function spillInto(database: DatabaseSync, folders: readonly string[]): void {
  let failure: unknown;
  for (const folder of folders) {
    try {
      mkdirSync(folder);
    } catch {
      // It is there; else the next line says what is wrong.
    }
    try {
      // SQLite asks only whether it can be written.
      readdirSync(folder);
      database.exec(`pragma temp_store_directory = '${folder.replaceAll("'", "''")}'`);
      return;
    } catch (error) {
      failure = error;
    }
  }
  throw failure ?? new Error('there is no folder for them');
}
