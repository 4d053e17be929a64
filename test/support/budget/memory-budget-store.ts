import type {
  BudgetStore,
  FreedSlots,
  LearntRow,
  LoadedBlock,
  LoadedBudget,
  NewBlock,
} from '../../../src/service/slot-store.ts';
import type { Clock } from '@research-mirror/runtime/clock';

/** How long a commit takes. */
const COMMIT_MS = 2;

/** A budget's rows in memory: what survives a crash in tests. One key; the store's clock is the wall clock. */
export class MemoryBudgetStore implements BudgetStore {
  readonly largestBlock: number = Infinity;
  readonly #clock: Clock;
  readonly #blocks = new Map<string, LoadedBlock>();
  readonly #learnt = new Map<string, LearntRow>();
  known = false;
  reservations = 0;
  /** When set, every write fails with it. */
  failure: Error | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  load(_keyHash: string): Promise<LoadedBudget> {
    return Promise.resolve({
      now: this.#clock.now(),
      known: this.known,
      blocks: [...this.#blocks.values()],
      learnt: [...this.#learnt.values()],
    });
  }

  async reserve(
    _keyHash: string,
    block: NewBlock,
    freed: FreedSlots,
    check: () => void = () => {},
  ): Promise<{ readonly now: number }> {
    await this.#clock.sleep(COMMIT_MS / 2);
    const now = this.#clock.now();
    if (this.failure !== undefined) throw this.failure;
    check();
    const { group, blockId, size, validForMs } = block;
    const id = `${group}/${blockId}`;
    if (this.#blocks.has(id)) throw new Error(`block ${id} is there already`);
    this.#blocks.set(id, { group, blockId, size, validUntil: now + validForMs, freed: [] });
    this.#apply(freed);
    this.known = true;
    this.reservations += 1;
    await this.#clock.sleep(COMMIT_MS / 2);
    return { now };
  }

  async record(freed: FreedSlots, check: () => void = () => {}): Promise<void> {
    await this.#clock.sleep(COMMIT_MS);
    if (this.failure !== undefined) throw this.failure;
    check();
    this.#apply(freed);
  }

  /** What one process has of it: its writes fail once another has taken the account over. */
  fenced(): { readonly store: BudgetStore; takeOver(): void } {
    let lost = false;
    const check = (): void => {
      if (lost) throw new Error('the account was taken over');
    };
    return {
      store: {
        largestBlock: this.largestBlock,
        load: (keyHash) => this.load(keyHash),
        reserve: (keyHash, block, freed) => this.reserve(keyHash, block, freed, check),
        record: (freed) => this.record(freed, check),
      },
      takeOver: () => {
        lost = true;
      },
    };
  }

  #apply({ blocks, learnt }: FreedSlots): void {
    for (const { group, blockId, freed } of blocks) {
      const id = `${group}/${blockId}`;
      const row = this.#blocks.get(id);
      if (row === undefined) continue;
      if (freed.length > row.size) throw new Error(`block ${id} has ${freed.length} slots freed`);
      if (row.freed.length <= freed.length) this.#blocks.set(id, { ...row, freed });
    }
    for (const row of learnt) {
      const before = this.#learnt.get(row.group)?.learnt.serial ?? 0;
      // Through JSON, as a database would.
      if (before <= (row.learnt.serial ?? 0)) this.#learnt.set(row.group, JSON.parse(JSON.stringify(row)) as LearntRow);
    }
    const old = this.#clock.now() - 300_000;
    for (const [id, row] of this.#blocks) if (row.validUntil < old) this.#blocks.delete(id);
  }
}
