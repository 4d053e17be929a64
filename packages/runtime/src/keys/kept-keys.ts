import { KeyFile, type KeyTable } from './key-file.ts';

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
  /** Where the file goes that takes what is too much for memory; the first of them in which a file can be made. */
  readonly folders: readonly string[];
  /** Keys of one `open` that stay in memory; default 50,000, some 150 bytes each. */
  readonly mostEach?: number;
  /** Keys of all of them together that stay in memory; default 100,000. */
  readonly mostTogether?: number;
  /** Bytes that the file may take; default 8 GiB, some 80,000,000 keys. */
  readonly mostBytes?: number;
  /** The file can't be made or written, for example because the disk is full. Told once until it could again. */
  readonly onLost: (error: unknown) => void;
}

/** So many keys stay in memory even where all others together are too many: a file costs more. */
const FEW = 100;
const MOST_BYTES = 8 * 2 ** 30;

/**
 * Keys in memory up to bounds, and beyond them in one file on disk, which takes 4 MB of memory. The file has no name
 * as soon as it is open, so nothing is left of it after a kill (`sweepKeyFiles`: what is left of the moment before).
 */
export function keyStore(options: KeyStoreOptions): KeyStore {
  const store = new Store(options);
  return { open: () => new Spilling(store) };
}

/** Keys in memory, without a bound: for tests, and for what is bounded by itself. */
export const keysInMemory: KeyStore = {
  open: () =>
    new Spilling(new Store({ folders: [], mostEach: Infinity, mostTogether: Infinity, onLost: () => {} })),
};

/** What the keys of one store share. */
class Store {
  readonly mostEach: number;
  readonly mostTogether: number;
  readonly #options: KeyStoreOptions;
  /** Keys in memory. */
  inMemory = 0;
  #file: KeyFile | undefined;
  #told = false;

  constructor(options: KeyStoreOptions) {
    this.#options = options;
    this.mostEach = options.mostEach ?? 50_000;
    this.mostTogether = options.mostTogether ?? 100_000;
  }

  /** @throws where no file can be made */
  table(): KeyTable {
    if (this.#file === undefined || this.#file.ended)
      this.#file = KeyFile.open(this.#options.folders, this.#options.mostBytes ?? MOST_BYTES);
    return this.#file.table();
  }

  worked(): void {
    this.#told = false;
  }

  failed(error: unknown): void {
    if (!this.#told) this.#options.onLost(error);
    this.#told = true;
  }
}

class Spilling implements KeptKeys {
  readonly #store: Store;
  #map: Map<string, string> | undefined = new Map();
  #table: KeyTable | undefined;
  #size = 0;
  #closed = false;

  constructor(store: Store) {
    this.#store = store;
  }

  get lost(): boolean {
    return this.#closed || this.#table?.lost === true;
  }

  get size(): number {
    return this.#size;
  }

  keep(key: string, value: string): string | undefined {
    if (this.lost) return undefined;
    if (this.#map !== undefined) {
      const before = this.#map.get(key);
      if (before !== undefined) return before;
      if (this.#fits()) {
        this.#map.set(key, value);
        this.#store.inMemory += 1;
        this.#size += 1;
        return undefined;
      }
    }
    return this.#try(() => {
      const before = this.#onDisk().keep(key, value);
      if (before === undefined) this.#size += 1;
      return before;
    });
  }

  has(key: string): boolean {
    if (this.#map !== undefined) return this.#map.has(key);
    return this.#try(() => this.#table?.has(key)) ?? false;
  }

  close(): void {
    this.#closed = true;
    this.#store.inMemory -= this.#map?.size ?? 0;
    this.#map = undefined;
    this.#size = 0;
    this.#table?.drop();
    this.#table = undefined;
  }

  #fits(): boolean {
    const { mostEach, mostTogether, inMemory } = this.#store;
    return this.#size < mostEach && (this.#size < FEW || inMemory < mostTogether);
  }

  #onDisk(): KeyTable {
    if (this.#table !== undefined) return this.#table;
    const table = this.#store.table();
    this.#table = table;
    for (const [key, value] of this.#map ?? []) table.keep(key, value);
    this.#store.inMemory -= this.#map?.size ?? 0;
    this.#map = undefined;
    this.#store.worked();
    return table;
  }

  #try<T>(act: () => T): T | undefined {
    try {
      return act();
    } catch (error) {
      this.close();
      this.#store.failed(error);
      return undefined;
    }
  }
}
