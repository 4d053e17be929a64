import type { StoredHint } from '../../../src/db/events/hint-store.ts';
import type { Scope } from '../../../src/model/collections.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import type { HintStore } from '../../../src/sync/hints/account-hints.ts';
import type { MemoryMirror } from './memory-mirror.ts';

/** One account's hints in memory, and what their dispatcher asks of the rows that they name. */
export class MemoryHints {
  /** With the moment at which they are due. */
  readonly byRow = new Map<string, StoredHint & { readonly scope: Scope; dueAt: number }>();
  readonly #clock: Clock;
  readonly #mirror: Pick<MemoryMirror, 'rowsOf'>;

  constructor(clock: Clock, mirror: Pick<MemoryMirror, 'rowsOf'>) {
    this.#clock = clock;
    this.#mirror = mirror;
  }

  /** What a receiver stores of an event. */
  add(scope: Scope, key: string): void {
    const id = `${scope.collection}/${scope.parent}/${key}`;
    const known = this.byRow.get(id);
    const seq = String(Number(known?.seq ?? 0) + 1);
    const now = this.#clock.now();
    const dueAt = Math.min(known?.dueAt ?? now, now);
    this.byRow.set(id, { scope, key, seq, step: 0, hintedAt: new Date(now), dueAt });
  }

  store(): HintStore {
    const hints = this.byRow;
    const clock = this.#clock;
    const dueFirst = () => [...hints.values()].sort((a, b) => a.dueAt - b.dueAt);
    return {
      next: async (among, except) => {
        const first = dueFirst().find(
          ({ scope }) => among.includes(scope.collection) && !except.some((each) => isSame(each, scope)),
        );
        return first === undefined
          ? undefined
          : { scope: first.scope, inMs: Math.max(0, first.dueAt - clock.now()) };
      },
      due: async (scope) =>
        dueFirst().filter((each) => isSame(each.scope, scope) && each.dueAt <= clock.now()),
      rows: async (scope, keys) => {
        const rows = this.#mirror.rowsOf(scope.collection);
        return new Map(keys.flatMap((key) => [rows.get(key)].flatMap((row) => (row ? [[key, row]] : []))));
      },
      lastChange: async (scope) =>
        [...this.#mirror.rowsOf(scope.collection).values()]
          .map(({ changedAt }) => changedAt)
          .sort((a, b) => b.getTime() - a.getTime())[0],
      size: async (scope) => this.#mirror.rowsOf(scope.collection).size,
      isThere: async () => true,
      forgetOthers: async (mirrored) => {
        for (const [id, { scope }] of hints) if (!mirrored.includes(scope.collection)) hints.delete(id);
      },
      update: async (scope, judge) => {
        const { done, again } = judge(new Date(clock.now()));
        const id = ({ key }: StoredHint): string => `${scope.collection}/${scope.parent}/${key}`;
        for (const hint of done) if (hints.get(id(hint))?.seq === hint.seq) hints.delete(id(hint));
        for (const { hint, dueAt } of again) {
          const stored = hints.get(id(hint));
          if (stored?.seq !== hint.seq) continue;
          hints.set(id(hint), { ...stored, step: stored.step + 1, dueAt: dueAt.getTime() });
        }
      },
    };
  }
}

function isSame(a: Scope, b: Scope): boolean {
  return a.collection === b.collection && a.parent === b.parent;
}
