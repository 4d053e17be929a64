import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { getBuiltinModule } from 'node:process';
import type { DatabaseSync } from 'node:sqlite';

const NAME = /^kept-keys-[\da-f-]{36}$/;
/** KiB of the file that SQLite keeps in memory; what is read again and again are the upper levels of its trees. */
const CACHE_KIB = 4096;
const PAGE_BYTES = 4096;

/** Texts by key in a file. `keep` and `has` may throw: then every table of the file is lost. */
export interface KeyTable {
  readonly lost: boolean;
  /** As `KeptKeys.keep`. */
  keep(key: string, value: string): string | undefined;
  has(key: string): boolean;
  /** Gives its room to other tables of the file; the last one's end is the file's. */
  drop(): void;
}

/**
 * A SQLite database as scratch memory: one transaction that never ends, no journal, nothing synced. It is unlinked as
 * soon as it is open, so its end, or that of the process, frees its room.
 */
export class KeyFile {
  readonly #database: DatabaseSync;
  #made = 0;
  #open = 0;
  #ended = false;

  private constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** It takes no further table. */
  get ended(): boolean {
    return this.#ended;
  }

  /** In the first of the folders in which that is possible. @throws the last one's error */
  static open(folders: readonly string[], mostBytes: number): KeyFile {
    let failure: unknown = new Error('there is no folder for them');
    for (const folder of folders) {
      try {
        return new KeyFile(openIn(folder, mostBytes));
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  /** @throws where it can't be written; then every table of the file is lost */
  table(): KeyTable {
    this.#made += 1;
    const name = `keys_${this.#made}`;
    const [insert, select] = this.#orEnd(() => {
      const database = this.#database;
      database.exec(`create table ${name} (key text primary key, value text not null) without rowid`);
      return [
        database.prepare(`insert or ignore into ${name} values (?, ?)`),
        database.prepare(`select value from ${name} where key = ?`),
      ];
    });
    this.#open += 1;
    const lost = (): boolean => this.#ended;
    return {
      get lost() {
        return lost();
      },
      keep: (key, value) =>
        this.#orEnd(() => {
          if (insert.run(key, value).changes === 1) return undefined;
          return (select.get(key) as { value: string } | undefined)?.value;
        }),
      has: (key) => this.#orEnd(() => select.get(key) !== undefined),
      drop: () => {
        this.#open -= 1;
        if (this.#ended) return;
        if (this.#open === 0) {
          this.#end();
          return;
        }
        try {
          this.#orEnd(() => this.#database.exec(`drop table ${name}`));
        } catch {
          // The file has ended, which frees its room, too.
        }
      },
    };
  }

  #orEnd<T>(act: () => T): T {
    if (this.#ended) throw new Error('the file has ended');
    try {
      return act();
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  #end(): void {
    this.#ended = true;
    this.#database.close();
  }
}

function openIn(folder: string, mostBytes: number): DatabaseSync {
  const path = join(folder, `kept-keys-${randomUUID()}`);
  try {
    mkdirSync(folder);
  } catch {
    // It is there; else the next line says what is wrong.
  }
  writeFileSync(path, '', { mode: 0o600, flag: 'wx' });
  try {
    // Loaded here: few walks need it.
    const { DatabaseSync: Database } = getBuiltinModule('node:sqlite');
    // Defensive, as it is by default, it would keep its journal, in a second file.
    const database = new Database(path, { defensive: false });
    database.exec(
      `pragma journal_mode = off; pragma synchronous = off; pragma locking_mode = exclusive;
       pragma temp_store = memory; pragma cache_size = -${CACHE_KIB}; pragma page_size = ${PAGE_BYTES};
       pragma max_page_count = ${Math.ceil(mostBytes / PAGE_BYTES)}; begin; create table opened (place integer)`,
    );
    return database;
  } finally {
    rmSync(path, { force: true });
  }
}

/** Removes what processes left that were killed between making such a file and unlinking it. */
export async function sweepKeyFiles(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    const names = await readdir(folder).catch(() => []);
    for (const name of names.filter((each) => NAME.test(each))) {
      // Another process may be about to unlink it, or another user's it is.
      await rm(join(folder, name), { force: true }).catch(() => {});
    }
  }
}
