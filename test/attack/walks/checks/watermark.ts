import type pg from 'pg';
import type { Finding } from '../../support/attack.ts';
import { compareCopied } from './comparison.ts';
import { compareRows, keysOf, liveRows, type ListName, type StoredRow } from './mirrored.ts';

interface CopiedRow {
  readonly raw: string;
  readonly change: string;
}

interface Copy {
  /** Live rows, by `list/id`. */
  readonly rows: Map<string, CopiedRow>;
  last: string;
}

/**
 * A program that follows the mirror by `_change_id` alone, as docs/tables.md says that it can: it never misses a
 * change. Deletions that remove rows are seen in `_history`. Where the database says that it went back, it compares
 * what it has once, by the query of docs/recipes.md.
 */
export class WatermarkReader {
  /** How often it compared. */
  compared = 0;
  readonly #db: pg.Pool;
  readonly #user: string;
  readonly #history: boolean;
  readonly #copies: ReadonlyMap<ListName, Copy>;
  readonly #recoveries = new Set<string>();
  /** What each change ID stood for: it never stands for anything else. */
  readonly #given = new Map<string, string>();
  readonly #twice: Finding[] = [];

  constructor(db: pg.Pool, user: string, names: readonly ListName[], history: boolean) {
    this.#db = db;
    this.#user = user;
    this.#history = history;
    this.#copies = new Map(names.map((name) => [name, { rows: new Map<string, CopiedRow>(), last: '0' }]));
  }

  /** Reads on from where it was. */
  async follow(): Promise<void> {
    await this.#lookBack();
    for (const [name, copy] of this.#copies) {
      const gone = this.#history
        ? `union all select ${keysOf(name)}, null, _change_id from mirror.${name}_history as h
           where _user_id = $1 and _op = 'delete' and _change_id > $2`
        : '';
      const { rows } = await this.#db.query<StoredRow & { raw: string | null; change: string }>(
        `select ${keysOf(name)}, case when _deleted_at is null then _raw::text end as raw, _change_id as change
         from mirror.${name} where _user_id = $1 and _change_id > $2 ${gone} order by 4`,
        [this.#user, copy.last],
      );
      for (const { list, id, raw, change } of rows) {
        this.#take(name, copy, `${list}/${id}`, raw, change);
        copy.last = change;
      }
    }
  }

  /** What its copies lack, or have too much, at the end. */
  async check(): Promise<Finding[]> {
    const findings: Finding[] = [];
    await this.follow();
    for (const [name, { rows }] of this.#copies) {
      const copy = new Map([...rows].map(([key, { raw }]) => [key, raw]));
      const wrong = compareRows(await liveRows(this.#db, name, this.#user), copy);
      findings.push(
        ...wrong
          .slice(0, 3)
          .map((text) => ({ kind: 'claim' as const, text: `${name} by _change_id: ${text}` })),
      );
    }
    return [...findings, ...this.#twice.slice(0, 3)];
  }

  #take(name: ListName, { rows }: Copy, key: string, raw: string | null, change: string): void {
    const what = `${name} ${key} ${raw ?? 'gone'}`;
    const before = this.#given.get(change);
    if (before !== undefined && before !== what)
      this.#twice.push({ kind: 'twice', text: `_change_id ${change} was ${before}, and is ${what}` });
    this.#given.set(change, what);
    if (raw === null) rows.delete(key);
    else rows.set(key, { raw, change });
  }

  /** Where there is a mark that it does not know, what it holds may never have been. */
  async #lookBack(): Promise<void> {
    const { rows } = await this.#db.query<{ at: string }>(
      'select detected_at::text as at from mirror.recoveries',
    );
    const unknown = rows.filter(({ at }) => !this.#recoveries.has(at));
    if (unknown.length === 0) return;
    for (const [name, copy] of this.#copies) await this.#compare(name, copy);
    for (const { at } of unknown) this.#recoveries.add(at);
    this.compared += 1;
  }

  async #compare(name: ListName, copy: Copy): Promise<void> {
    const copied = new Map([...copy.rows].map(([key, { change }]) => [key, change]));
    for (const { key, change, raw } of await compareCopied(this.#db, name, this.#user, copied)) {
      if (change === null) copy.rows.delete(key);
      else this.#take(name, copy, key, raw, change);
    }
  }
}
