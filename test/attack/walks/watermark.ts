import type pg from 'pg';
import type { Finding } from '../support/findings.ts';
import { compareRows, keysOf, liveRows, type ListName, type StoredRow } from './mirrored.ts';

/**
 * A program that follows the mirror by `_change_id` alone, as the contract promises that it can: it never misses a
 * change. Deletions that remove rows are seen in `_history`.
 */
export class WatermarkReader {
  readonly #db: pg.Pool;
  readonly #user: string;
  readonly #history: boolean;
  readonly #copies: ReadonlyMap<ListName, { rows: Map<string, string>; last: string }>;

  constructor(db: pg.Pool, user: string, names: readonly ListName[], history: boolean) {
    this.#db = db;
    this.#user = user;
    this.#history = history;
    this.#copies = new Map(names.map((name) => [name, { rows: new Map(), last: '0' }]));
  }

  /** Reads on from where it was. */
  async follow(): Promise<void> {
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
        if (raw === null) copy.rows.delete(`${list}/${id}`);
        else copy.rows.set(`${list}/${id}`, raw);
        copy.last = change;
      }
    }
  }

  /** What its copies lack, or have too much, at the end. */
  async check(): Promise<Finding[]> {
    const findings: Finding[] = [];
    await this.follow();
    for (const [name, { rows }] of this.#copies) {
      const wrong = compareRows(await liveRows(this.#db, name, this.#user), rows);
      findings.push(
        ...wrong
          .slice(0, 3)
          .map((text) => ({ kind: 'claim' as const, text: `${name} by _change_id: ${text}` })),
      );
    }
    return findings;
  }
}
