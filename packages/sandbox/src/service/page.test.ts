import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { mutate } from '../control/mutation.ts';
import { SandboxState } from '../sandbox-state.ts';
import { optionsWith } from '../../testing/sandbox.ts';
import { SANDBOX_SWITCHES, type SandboxOptions } from '../switches/sandbox-switches.ts';
import { readAll } from './page.ts';
import { respond } from './respond.ts';

type Query = Readonly<Record<string, string>>;
type Collection = 'watchlist' | 'research_jobs';

interface Envelope {
  readonly data: readonly Record<string, unknown>[];
  readonly has_more?: boolean;
  readonly next_cursor?: string | null;
}

function stateWith(options: Record<string, unknown> = {}): SandboxState {
  return new SandboxState(optionsWith(options), new VirtualClock());
}

function userOf(state: SandboxState) {
  const user = state.users.get(1001);
  if (user === undefined) throw new Error('no user');
  return user;
}

function ask(state: SandboxState, given: Query, collection: Collection = 'research_jobs') {
  const action = { kind: 'list' as const, collection };
  const query = new URLSearchParams(given);
  const rest = { body: '', idempotencyKey: undefined, time: state.data.now() };
  return respond({ user: userOf(state), action, query, ...rest }, state);
}

function page(state: SandboxState, query: Query = {}, collection: Collection = 'research_jobs'): Envelope {
  const answer = ask(state, query, collection);
  expect(answer.status).toBe(200);
  const body = JSON.parse(answer.body ?? '') as Envelope & { result?: Envelope };
  return body.result ?? body;
}

const idsOf = ({ data }: Envelope): string[] => data.map((item) => String(item['id']));
const watched = (state: SandboxState, query: Query): string[] => idsOf(page(state, query, 'watchlist'));

/** A plain walk: continues from the last item until `has_more` is false, or until nothing new comes. */
function walk(state: SandboxState, limit: number): { ids: string[]; repeats: number } {
  const ids: string[] = [];
  let cursor: string | undefined;
  let repeats = 0;
  for (;;) {
    const after: Query = cursor === undefined ? {} : { starting_after: cursor };
    const read = page(state, { limit: String(limit), ...after }, 'watchlist');
    const got = idsOf(read);
    if (cursor !== undefined && state.options.cursor === 'inclusive') expect(got[0]).toBe(cursor);
    const fresh = got.filter((id) => !ids.includes(id));
    repeats += got.length - fresh.length;
    ids.push(...fresh);
    const { has_more: hasMore, next_cursor: next } = read;
    const ended = hasMore === false || next === null || (hasMore === undefined && fresh.length === 0);
    if (ended) return { ids, repeats };
    // A garbled cursor is ignored.
    cursor = (state.options.cursor === 'garbled' ? undefined : next) ?? ids.at(-1);
  }
}

/** IDs that the watchlist answers now, read without paging. */
function truth(state: SandboxState): string[] {
  const population = userOf(state).data.collection('watchlist');
  const all = readAll(population, state.rankings, state.options, state.data.now());
  return [...all].map((ref) => population.idOf(ref));
}

/** Changes some items, deletes some, and inserts some between others, at the ends, and after all. */
function disturb(state: SandboxState): void {
  const ids = truth(state);
  const collection = 'watchlist';
  for (const index of [0, 3, 4, 5, 6, 20, 21])
    mutate(state, { op: 'delete', collection, id: ids[index] ?? '' });
  for (const index of [8, 15])
    mutate(state, { op: 'update', collection, id: ids[index] ?? '', fields: { score: 1 } });
  for (const id of ['1', '1021', '1037', '999999'])
    mutate(state, { op: 'insert', collection, id, fields: { score: 3 } });
  mutate(state, { op: 'insert', collection });
}

const orders = SANDBOX_SWITCHES.order.choices ?? [];
const cursors = SANDBOX_SWITCHES.cursor.choices ?? [];
const ends = SANDBOX_SWITCHES.hasMore.choices ?? [];

describe.each(orders)('a plain walk in the order %s', (order) => {
  it.each(cursors.flatMap((cursor) => ends.map((hasMore) => [cursor, hasMore] as const)))(
    'reads every item once with the cursor %s and has_more %s',
    (cursor, hasMore) => {
      for (const watchlist of [0, 1, 7, 14, 48]) {
        const state = stateWith({ order, cursor, hasMore, watchlist });
        if (watchlist === 48) disturb(state);
        const { ids, repeats } = walk(state, watchlist === 48 ? 2 : 7);
        expect(ids).toEqual(truth(state));
        expect(new Set(ids).size).toBe(ids.length);
        if (cursor !== 'inclusive' && hasMore !== 'missing') expect(repeats).toBe(0);
      }
    },
  );
});

it('items that were inserted appear once each where their IDs have no order', () => {
  const state = stateWith({ ids: 'uuid', watchlist: 3 });
  for (const id of ['x', 'y', 'z']) mutate(state, { op: 'insert', collection: 'watchlist', id, fields: {} });
  const read = walk(state, 1).ids;
  expect(read).toHaveLength(6);
  expect(read).toEqual(expect.arrayContaining(['x', 'y', 'z']));
});

describe('the orders', () => {
  const read = <T>(order: string, field: string): T[] =>
    page(stateWith({ order, jobs: 300 }), { limit: '300' }).data.map((job) => job[field] as T);

  it('sort by what their names say', () => {
    const falling = read<number>('falling', 'job_id');
    expect(falling).toEqual(falling.toSorted((a, b) => b - a));
    expect(read('rising', 'job_id')).toEqual(falling.toReversed());
    for (const [order, field] of [
      ['last-updated', 'updated_at'],
      ['created', 'created_at'],
    ] as const) {
      const times = read<string>(order, field);
      expect(times).toEqual(times.toSorted().reverse());
    }
    const scores = read<number | null>('score', 'score').map((score) => score ?? -1);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    expect(read('unordered', 'job_id')).not.toEqual(falling);
    expect(read<number>('unordered', 'job_id').toSorted((a, b) => b - a)).toEqual(falling);
  });

  it('by creation have ties in which IDs do not fall', () => {
    expect(new Set(read('created', 'created_at')).size).toBeLessThan(100);
    const ids = read<number>('created', 'job_id');
    expect(ids.some((id, index) => id > (ids[index - 1] ?? Infinity))).toBe(true);
  });

  it('show a changed row first in the order last-updated', () => {
    const state = stateWith({ order: 'last-updated', watchlist: 30 });
    const id = truth(state)[20] ?? '';
    mutate(state, { op: 'update', collection: 'watchlist', id, fields: { score: 5 } });
    expect(truth(state)[0]).toBe(id);
  });
});

it.each<[SandboxOptions['cursor'], readonly string[], number, [from: number, to: number]]>([
  ['keyset', orders, 200, [10, 13]],
  ['position-400', ['falling'], 400, [0, 0]],
  ['position-404', ['falling'], 404, [0, 0]],
  ['unknown-ignored', ['falling'], 200, [0, 3]],
  ['unknown-empty', ['falling'], 200, [0, 0]],
])('a cursor whose item was deleted is what the switch says: %s', (cursor, of, status, [from, to]) => {
  for (const order of of) {
    const state = stateWith({ cursor, order, watchlist: 20 });
    const ids = truth(state);
    mutate(state, { op: 'delete', collection: 'watchlist', id: ids[9] ?? '' });
    const answer = ask(state, { limit: '3', starting_after: ids[9] ?? '' }, 'watchlist');
    expect(answer.status).toBe(status);
    if (status === 200) expect(idsOf(JSON.parse(answer.body ?? '') as Envelope)).toEqual(ids.slice(from, to));
  }
});

describe('a page', () => {
  const sizes = (state: SandboxState, ...limits: string[]): number[] =>
    limits.map((limit) => page(state, { limit }).data.length);

  it('has 100 items by default and at most 500, or as many as a switch says', () => {
    const state = stateWith({ jobs: 1000 });
    expect([page(state).data.length, ...sizes(state, '500', '1')]).toEqual([100, 500, 1]);
    const smaller = stateWith({ maxLimit: 100 });
    expect(ask(smaller, { limit: '101' }).status).toBe(400);
    expect(sizes(smaller, '100')).toEqual([100]);
    expect(sizes(stateWith({ maxLimit: 100, badLimit: 'clamped' }), '500')).toEqual([100]);
  });

  it.each(['0', '501', '-3', 'ten', '1.5', ''])('with limit %j is refused as the switch says', (limit) => {
    const statuses = [{}, { badLimit: '422' }, { badLimit: 'clamped' }].map(
      (options) => ask(stateWith(options), { limit }).status,
    );
    expect(statuses).toEqual([400, 422, 200]);
  });

  it.each([
    ['taken', 5, true],
    ['ignored', 20, true],
    ['last', 5, false],
    ['refused', undefined, undefined],
  ])('of a smaller limit than the greatest is what the switch says: %s', (smallLimit, count, hasMore) => {
    const state = stateWith({ jobs: 30, maxLimit: 20, smallLimit });
    expect(ask(state, { limit: '5' }).status).toBe(count === undefined ? 400 : 200);
    if (count !== undefined) expect(page(state, { limit: '5' })).toMatchObject({ has_more: hasMore });
    expect(sizes(state, ...(count === undefined ? [] : ['5']), '20')).toEqual(
      count === undefined ? [20] : [count, 20],
    );
  });

  it('is refused for a cursor that is not an ID', () => {
    expect(ask(stateWith(), { starting_after: 'x' }).status).toBe(400);
    expect(ask(stateWith({ cursor: 'opaque' }), { starting_after: '1003' }).status).toBe(400);
  });

  it('continues from an ID that no item has, with keyset paging', () => {
    const state = stateWith({ watchlist: 20 });
    const ids = truth(state);
    const between = String(Number(ids[5]) - 1);
    expect(ids).not.toContain(between);
    expect(watched(state, { starting_after: between, limit: '2' })).toEqual(ids.slice(6, 8));
  });

  it('is nested one level where the switch says so', () => {
    const answer = ask(stateWith({ envelope: 'nested', watchlist: 3 }), {}, 'watchlist');
    expect(JSON.parse(answer.body ?? '')).toMatchObject({
      object: 'list',
      result: { has_more: false, data: [{}, {}, {}] },
    });
  });
});
