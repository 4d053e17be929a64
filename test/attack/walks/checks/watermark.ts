import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { ROOT } from '../../../support/rules/source-files.ts';
import type { Finding } from '../../support/attack.ts';
import { compareRows, KEYS, keysOf, liveRows, type ListName, type StoredRow } from './mirrored.ts';

interface Copy {
  /** Live rows, by `list/id`. */
  readonly rows: Map<string, { readonly raw: string; readonly change: string }>;
  last: string;
}

/**
 * A program that follows the mirror by `_change_id` alone, as docs/tables.md says that it can: it never misses a
 * change. Deletions that remove rows are seen in `_history`. Where the database says that it went back, it compares
 * what it has once, by the query of docs/feeds.md.
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
    this.#copies = new Map(names.map((name) => [name, { rows: new Map(), last: '0' }]));
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
      const wrong = compareRows(await liveRows(this.#db, name, this.#user), copy).slice(0, 3);
      for (const text of wrong) findings.push({ kind: 'claim', text: `${name} by _change_id: ${text}` });
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
    const marks = 'select detected_at::text as at from mirror.recoveries';
    const { rows } = await this.#db.query<{ at: string }>(marks);
    const unknown = rows.filter(({ at }) => !this.#recoveries.has(at));
    if (unknown.length === 0) return;
    for (const [name, copy] of this.#copies) {
      for (const { key, change, raw } of await this.#compare(name, copy)) {
        if (change === null) copy.rows.delete(key);
        else this.#take(name, copy, key, raw, change);
      }
    }
    for (const { at } of unknown) this.#recoveries.add(at);
    this.compared += 1;
  }

  /**
   * Compares a copy with the mirror by change ID.
   * @returns rows that differ; `change` is null where the mirror has no such row, `raw` where it is deleted or was
   *   never there
   */
  async #compare(name: ListName, copy: Copy) {
    const keys = name === 'list_items' ? ['list_id', 'id'] : [KEYS[name]];
    const copied = [...copy.rows].map(([place, { change }]) => {
      const values = place.split('/').slice(-keys.length);
      const row = Object.fromEntries(keys.map((key, at) => [key, values[at]]));
      return { ...row, _user_id: this.#user, _change_id: change };
    });
    const client = await this.#db.connect();
    // What breaks it is told by the statement under way.
    client.on('error', () => {});
    try {
      await client.query('begin');
      await client.query(
        `create temporary table copied on commit drop as
         select _user_id, ${keys.join(', ')}, _change_id from mirror.${name} limit 0`,
      );
      await client.query('insert into copied select * from jsonb_populate_recordset(null::copied, $1)', [
        JSON.stringify(copied),
      ]);
      const { rows } = await client.query<Record<string, string | null> & { gone: boolean }>(comparison(name, keys), [
        this.#user,
      ]);
      await client.query('commit');
      return rows.map((row) => ({
        key: `${(name === 'list_items' && row['list_id']) || ''}/${row[KEYS[name]] ?? ''}`,
        change: row['_change_id'] ?? null,
        raw: row.gone ? null : (row['raw'] ?? null),
      }));
    } finally {
      // Also where it failed in the middle: nothing of it stays.
      client.release(true);
    }
  }
}

/** The recipe, which compares research_jobs with a table crm.jobs, for another table; rows as Postgres prints them. */
function comparison(name: ListName, keys: readonly string[]): string {
  const text = readFileSync(join(ROOT, 'docs', 'feeds.md'), 'utf8');
  const [, found] = /```sql\n([^`]*full join[^`]*crm\.jobs[^`]*)```/.exec(text) ?? [];
  if (found === undefined) throw new Error('docs/feeds.md compares with crm.jobs no more');
  return found
    .replaceAll('crm.jobs', 'copied')
    .replaceAll('research_jobs', name)
    .replaceAll('job_id', keys.join(', '))
    .replace('m._raw', 'm._raw::text as raw');
}
