import { mkdirSync, readdirSync } from 'node:fs';
import { getBuiltinModule } from 'node:process';
import type { DatabaseSync, StatementSync } from 'node:sqlite';

const MOST_BYTES = 8 * 2 ** 30;
/** In memory, some 50,000 keys; the rest is in the file. */
const CACHE_KIB = 4096;
const PAGE_BYTES = 4096;
/** Keys in maps: of each, and of all together. More go into tables, which take ten times as long. */
const FEW = 2_000;
const ALL_FEW = 50_000;

/** One temporary database of SQLite for all: it spills into a file that has no name, so a kill leaves nothing. */
export function keyStore({
  folders,
  mostBytes = MOST_BYTES,
  onLost,
}: {
  /** For the file; the first of them that can be written. */
  readonly folders: readonly string[];
  /** Bytes of all together; default 8 GiB, some 80,000,000 keys. */
  readonly mostBytes?: number;
  /** Keys can't be kept, for example because the disk is full. Called once until they can be again. */
  readonly onLost: (error: unknown) => void;
}): { open(): KeptKeys } {
  let opened = 0;
  let scratch: ReturnType<typeof openScratch> | undefined;
  let told = false;
  const inMaps = { keys: 0 };
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
      // Frees its pages together: to delete rows takes a second for each million.
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
    return new KeptKeys(() => makeTable(name), failed, inMaps);
  };
  return { open };
}

export type KeyStore = ReturnType<typeof keyStore>;

interface KeyTable extends Readonly<Record<'insert' | 'select', StatementSync>> {
  readonly scratch: ReturnType<typeof openScratch>;
  readonly drop: () => void;
}

/**
 * Texts by key, of any number. They are lost as a whole (the disk is full, `close` was called): then `lost` is true,
 * and all other answers are void.
 */
export class KeptKeys {
  readonly #makeTable: () => KeyTable;
  readonly #failed: (error: unknown) => void;
  /** Keys in all maps. */
  readonly #inMaps: { keys: number };
  readonly #few = new Map<string, string>();
  /** Undefined while they are few. Earlier keys stay in the map. */
  #table: KeyTable | undefined;
  #inTable = 0;
  #closed = false;

  constructor(makeTable: () => KeyTable, failed: (error: unknown) => void, inMaps: { keys: number }) {
    this.#makeTable = makeTable;
    this.#failed = failed;
    this.#inMaps = inMaps;
  }

  get lost(): boolean {
    return this.#closed || this.#table?.scratch.database.isOpen === false;
  }

  get size(): number {
    return this.lost ? 0 : this.#few.size + this.#inTable;
  }

  /** Keeps the value under a new key. @returns the value that the key has and keeps; undefined: the key is new */
  keep(key: string, value: string): string | undefined {
    return this.#try(() => {
      const kept = this.#few.get(key);
      if (kept !== undefined) return kept;
      const isRoom = this.#few.size < FEW || this.#inMaps.keys < ALL_FEW;
      if (this.#table !== undefined || !isRoom) {
        const { insert, select } = (this.#table ??= this.#makeTable());
        if (insert.run(key, value).changes === 0) return (select.get(key) as { value: string }).value;
        this.#inTable += 1;
        return undefined;
      }
      this.#few.set(key, value);
      this.#inMaps.keys += 1;
      return undefined;
    });
  }

  has(key: string): boolean {
    return this.#few.has(key) || this.#try(() => this.#table?.select.get(key)) !== undefined;
  }

  /** Forgets everything, and frees its memory. */
  close(): void {
    this.#try(() => {
      if (this.#table === undefined) return;
      const { scratch, drop } = this.#table;
      scratch.users -= 1;
      if (scratch.users === 0) scratch.database.close();
      else drop();
    });
    this.#end();
  }

  #end(): void {
    this.#inMaps.keys -= this.#few.size;
    this.#few.clear();
    this.#closed = true;
  }

  /** A failure loses the keys of all tables. */
  #try<T>(act: () => T): T | undefined {
    if (this.lost) return undefined;
    try {
      return act();
    } catch (error) {
      this.#end();
      this.#table?.scratch.database.close();
      this.#failed(error);
      return undefined;
    }
  }
}

/** No journal, nothing synced, one transaction that never ends. @throws if none can be made */
function openScratch(folders: readonly string[], mostBytes: number) {
  // Few programs need it.
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

/** @throws the last folder's error if none can be written */
function spillInto(database: DatabaseSync, folders: readonly string[]): void {
  let failure: unknown;
  for (const folder of folders) {
    try {
      mkdirSync(folder);
    } catch {
      // It exists; otherwise the next line fails.
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
  throw failure ?? new Error('no folder was given for the keys');
}
