import { mutate, type Mutation } from '@research-mirror/sandbox/control/mutation';
import { readAll } from '@research-mirror/sandbox/service/page';
import type { Population } from '@research-mirror/sandbox/world/population';
import type { Draw } from '../../support/draw.ts';
import type { Source } from '../source/source.ts';
import { rowName, type SourceScope, type TruthLog } from '../source/truth-log.ts';

/** How often each operation is drawn. */
const WEIGHTS = { insert: 3, late: 1, update: 4, delete: 3, restore: 2, blink: 0.5, purge: 0.15 };

interface Rows {
  readonly scope: SourceScope;
  readonly population: Population;
  readonly live: string[];
  readonly gone: string[];
}

/**
 * Another user of the account: inserts, also late ones (below IDs that are there), changes that move rows in
 * lists by score or by last update, deletes, restores, and deletes many at once. Each is one synchronous call, and is
 * written down in the log at its moment.
 */
export class Operator {
  /** Operations carried out so far. */
  count = 0;
  readonly #source: Source;
  readonly #log: TruthLog;
  readonly #draw: Draw;
  readonly #trace: (line: string) => void;
  readonly #scopes = new Map<string, Rows>();
  /** Makes every content one that was never there before. */
  #revision = 0;

  constructor(source: Source, log: TruthLog, draw: Draw, trace: (line: string) => void) {
    this.#source = source;
    this.#log = log;
    this.#draw = draw;
    this.#trace = trace;
  }

  /** Takes over what a scope holds by now. */
  watch(scope: SourceScope): void {
    const { state } = this.#source;
    const [user] = state.users.values();
    const time = state.data.now();
    if (user === undefined) return;
    const list = user.data.list(scope.list, time);
    const population =
      scope.collection === 'list_items'
        ? list === undefined
          ? undefined
          : user.data.itemsToChange(list)
        : user.data.collection(scope.collection);
    if (population === undefined) return;
    const live = [...readAll(population, state.rankings, state.options, time)].map((ref) => population.idOf(ref));
    for (const id of live) this.#log.turn(scope, id, 0, true);
    this.#scopes.set(rowName(scope, ''), { scope, population, live, gone: [] });
    if (scope.collection === 'lists') for (const id of live) this.watch({ collection: 'list_items', list: id });
  }

  /** Carries one operation out. */
  act(): void {
    const rows = this.#draw.one([...this.#scopes.values()]);
    if (rows === undefined) return;
    this.count += 1;
    const operation = this.#draw.weighted(WEIGHTS);
    if (operation === 'insert') this.#insert(rows);
    else if (operation === 'late') this.#insertLate(rows);
    else if (operation === 'update') this.#update(rows);
    else if (operation === 'delete') this.#delete(rows);
    else if (operation === 'restore') this.#restore(rows);
    else if (operation === 'blink') {
      const id = this.#delete(rows);
      if (id !== undefined) this.#restore(rows, id);
    } else {
      const share = this.#draw.random();
      for (const id of rows.live.filter(() => this.#draw.chance(share))) this.#delete(rows, id);
    }
  }

  #insert(rows: Rows, id?: string): void {
    const inserted = this.#mutate(rows, 'insert', id, { ...this.#fields(), name: `new ${this.#revision}` });
    rows.live.push(inserted);
    this.#turn(rows, inserted, true);
    if (rows.scope.collection === 'lists') this.watch({ collection: 'list_items', list: inserted });
  }

  /** A number just below one that is or was there; IDs that are no numbers have no such place. */
  #insertLate(rows: Rows): void {
    const near = this.#draw.one([...rows.live, ...rows.gone]);
    const [, prefix = '', digits] = /^(acc_)?(\d+)$/.exec(near ?? '') ?? [];
    if (digits === undefined) {
      this.#insert(rows);
      return;
    }
    const id = `${prefix}${BigInt(digits) - BigInt(this.#draw.integer(1, 9))}`;
    if (rows.live.includes(id)) return;
    // The sandbox keeps one inserted item between two of its own: a second one would share the first one's place.
    const { overlay, plan } = rows.population;
    const rank = plan.ids.rankOf(id);
    if (overlay.extras.some((other) => other.id !== id && other.rank === rank)) return;
    const wasThere = rows.gone.indexOf(id);
    if (wasThere >= 0) rows.gone.splice(wasThere, 1);
    this.#insert(rows, id);
  }

  #update(rows: Rows): void {
    const id = this.#draw.one(rows.live);
    if (id === undefined) return;
    this.#mutate(rows, 'update', id, this.#fields());
    this.#log.move(rows.scope, id, this.#source.state.data.now());
  }

  #delete(rows: Rows, id = this.#draw.one(rows.live)): string | undefined {
    if (id === undefined) return undefined;
    this.#mutate(rows, 'delete', id);
    rows.live.splice(rows.live.indexOf(id), 1);
    rows.gone.push(id);
    this.#turn(rows, id, false);
    return id;
  }

  #restore(rows: Rows, id = this.#draw.one(rows.gone)): void {
    if (id === undefined) return;
    this.#mutate(rows, 'restore', id);
    rows.gone.splice(rows.gone.indexOf(id), 1);
    rows.live.push(id);
    this.#turn(rows, id, true);
  }

  #fields(): Record<string, unknown> {
    this.#revision += 1;
    const status = this.#draw.one(['completed', 'processing', 'failed', 'queued']);
    return { rev: this.#revision, score: this.#draw.integer(0, 100), status };
  }

  #turn(rows: Rows, id: string, present: boolean): void {
    this.#log.turn(rows.scope, id, this.#source.state.data.now(), present);
  }

  #mutate(rows: Rows, op: Mutation['op'], id?: string, fields?: Record<string, unknown>): string {
    const { collection, list } = rows.scope;
    const mutation = {
      op,
      collection,
      silent: this.#draw.chance(0.2),
      ...(list === '' ? {} : { list }),
      ...(id === undefined ? {} : { id }),
      ...(fields === undefined ? {} : { fields }),
    };
    try {
      const changed = mutate(this.#source.state, mutation);
      this.#trace(`${op} ${rowName(rows.scope, changed)}`);
      return changed;
    } catch (cause) {
      throw new Error(`${op} of ${rowName(rows.scope, id ?? 'a new row')}`, { cause });
    }
  }
}
