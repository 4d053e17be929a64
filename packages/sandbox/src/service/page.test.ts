import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { mutate } from '../control/mutation.ts';
import { SandboxState } from '../sandbox-state.ts';
import { optionsWith } from '../../testing/options.ts';
import { SANDBOX_SWITCHES, type SandboxOptions } from '../switches/sandbox-switches.ts';
import type { Answer } from './answer.ts';
import { readAll } from './page.ts';
import { respond } from './respond.ts';

interface Envelope {
  readonly data: readonly Record<string, unknown>[];
  readonly has_more?: boolean;
  readonly next_cursor?: string | null;
}

function stateWith(options: Record<string, unknown>): SandboxState {
  return new SandboxState(optionsWith(options), new VirtualClock());
}

function ask(
  state: SandboxState,
  query: Record<string, string>,
  collection: 'watchlist' | 'research_jobs',
): Answer {
  const user = state.users.get(1001);
  if (user === undefined) throw new Error('no user');
  const action = { kind: 'list' as const, collection };
  const time = state.data.now();
  return respond(
    { user, action, query: new URLSearchParams(query), body: '', idempotencyKey: undefined, time },
    state,
  );
}

function page(
  state: SandboxState,
  query: Record<string, string>,
  collection: 'watchlist' | 'research_jobs' = 'watchlist',
): Envelope {
  const answer = ask(state, query, collection);
  expect(answer.status).toBe(200);
  const body = JSON.parse(answer.body ?? '') as Envelope & { result?: Envelope };
  return body.result ?? body;
}

/** A plain walk: continues from the last item until `has_more` is false, or until nothing new comes. */
function walk(state: SandboxState, limit: number): { ids: string[]; repeats: number } {
  const ids: string[] = [];
  let cursor: string | undefined;
  let repeats = 0;
  for (;;) {
    const {
      data,
      has_more: hasMore,
      next_cursor: next,
    } = page(state, {
      limit: String(limit),
      ...(cursor === undefined ? {} : { starting_after: cursor }),
    });
    if (cursor !== undefined && state.options.cursor === 'inclusive')
      expect(String(data[0]?.['id'])).toBe(cursor);
    const fresh = data.map((item) => String(item['id'])).filter((id) => !ids.includes(id));
    repeats += data.length - fresh.length;
    ids.push(...fresh);
    const ended = hasMore === false || next === null || (hasMore === undefined && fresh.length === 0);
    if (ended) return { ids, repeats };
    // A garbled cursor is ignored.
    cursor = (state.options.cursor === 'garbled' ? undefined : next) ?? ids.at(-1);
  }
}

/** What lists answer now, read without paging. */
function truth(state: SandboxState): string[] {
  const population = state.users.get(1001)?.data.collection('watchlist');
  if (population === undefined) throw new Error('no user');
  return [...readAll(population, state.rankings, state.options, state.data.now())].map((ref) =>
    population.idOf(ref),
  );
}

/** Changes some items, deletes some, and inserts some between others, at the ends, and after all. */
function disturb(state: SandboxState): void {
  const ids = truth(state);
  const collection = 'watchlist' as const;
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
        const mayRepeat = cursor === 'inclusive' || hasMore === 'missing';
        if (!mayRepeat) expect(repeats).toBe(0);
      }
    },
  );
});

describe('items that were inserted', () => {
  it('appear once each where their IDs have no order', () => {
    const state = stateWith({ ids: 'uuid', watchlist: 3 });
    for (const id of ['x', 'y', 'z'])
      mutate(state, { op: 'insert', collection: 'watchlist', id, fields: {} });
    const read = walk(state, 1).ids;
    expect(read).toHaveLength(6);
    expect(read).toEqual(expect.arrayContaining(['x', 'y', 'z']));
  });
});

describe('the orders', () => {
  it('sort by what their names say', () => {
    const read = (order: string, field: string): unknown[] =>
      page(stateWith({ order, jobs: 300 }), { limit: '300' }, 'research_jobs').data.map((job) => job[field]);
    const falling = read('falling', 'job_id') as number[];
    expect(falling).toEqual(falling.toSorted((a, b) => b - a));
    expect(read('rising', 'job_id')).toEqual(falling.toReversed());
    const updated = read('last-updated', 'updated_at') as string[];
    expect(updated).toEqual(updated.toSorted().reverse());
    const scores = (read('score', 'score') as (number | null)[]).map((score) => score ?? -1);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    expect(read('unordered', 'job_id')).not.toEqual(falling);
    expect((read('unordered', 'job_id') as number[]).toSorted((a, b) => b - a)).toEqual(falling);
  });

  it('by creation have ties in which IDs do not fall', () => {
    const jobs = page(stateWith({ order: 'created', jobs: 300 }), { limit: '300' }, 'research_jobs').data;
    const created = jobs.map((job) => String(job['created_at']));
    expect(created).toEqual(created.toSorted().reverse());
    expect(new Set(created).size).toBeLessThan(100);
    const ids = jobs.map((job) => Number(job['job_id']));
    expect(ids.some((id, index) => id > (ids[index - 1] ?? Infinity))).toBe(true);
  });

  it('show a changed row first in the order last-updated', () => {
    const state = stateWith({ order: 'last-updated', watchlist: 30 });
    const id = truth(state)[20] ?? '';
    mutate(state, { op: 'update', collection: 'watchlist', id, fields: { score: 5 } });
    expect(truth(state)[0]).toBe(id);
  });
});

describe('a cursor whose item was deleted', () => {
  const after = (cursor: SandboxOptions['cursor'], order: SandboxOptions['order']) => {
    const state = stateWith({ cursor, order, watchlist: 20 });
    const ids = truth(state);
    const gone = ids[9] ?? '';
    mutate(state, { op: 'delete', collection: 'watchlist', id: gone });
    const answer = ask(state, { limit: '3', starting_after: gone }, 'watchlist');
    const data = answer.status === 200 ? (JSON.parse(answer.body ?? '') as Envelope).data : [];
    return { status: answer.status, ids: data.map((item) => String(item['id'])), before: ids };
  };

  it.each(orders as readonly SandboxOptions['order'][])('still works by keyset, order %s', (order) => {
    const { ids, before } = after('keyset', order);
    expect(ids).toEqual(before.slice(10, 13));
  });

  it.each([
    ['position-400', 400],
    ['position-404', 404],
  ] as const)('is refused by %s', (cursor, status) => {
    expect(after(cursor, 'falling').status).toBe(status);
  });

  it('is ignored, or ends the list, as the switch says', () => {
    const ignored = after('unknown-ignored', 'falling');
    expect(ignored.ids).toEqual(ignored.before.slice(0, 3));
    expect(after('unknown-empty', 'falling')).toMatchObject({ status: 200, ids: [] });
  });
});

describe('a page', () => {
  it('has 100 items by default and at most 500', () => {
    const state = stateWith({ jobs: 1000 });
    expect(page(state, {}, 'research_jobs').data).toHaveLength(100);
    expect(page(state, { limit: '500' }, 'research_jobs').data).toHaveLength(500);
    expect(page(state, { limit: '1' }, 'research_jobs').data).toHaveLength(1);
  });

  it.each(['0', '501', '-3', 'ten', '1.5', ''])('with limit %j is refused as the switch says', (limit) => {
    expect(ask(stateWith({}), { limit }, 'research_jobs').status).toBe(400);
    expect(ask(stateWith({ badLimit: '422' }), { limit }, 'research_jobs').status).toBe(422);
    expect(ask(stateWith({ badLimit: 'clamped' }), { limit }, 'research_jobs').status).toBe(200);
  });

  it('may have a smaller greatest limit than the specification', () => {
    const state = stateWith({ maxLimit: 100 });
    expect(ask(state, { limit: '101' }, 'research_jobs').status).toBe(400);
    expect(page(state, { limit: '100' }, 'research_jobs').data).toHaveLength(100);
    expect(
      page(stateWith({ maxLimit: 100, badLimit: 'clamped' }), { limit: '500' }, 'research_jobs').data,
    ).toHaveLength(100);
  });

  it('of a smaller limit than the greatest is what the switch says', () => {
    const small = (smallLimit: 'taken' | 'ignored' | 'last') => {
      const { data, has_more: hasMore } = page(
        stateWith({ jobs: 30, maxLimit: 20, smallLimit }),
        { limit: '5' },
        'research_jobs',
      );
      return [data.length, hasMore];
    };
    expect([small('taken'), small('ignored'), small('last')]).toEqual([
      [5, true],
      [20, true],
      [5, false],
    ]);
    const refusing = stateWith({ jobs: 30, maxLimit: 20, smallLimit: 'refused' });
    expect(ask(refusing, { limit: '5' }, 'research_jobs').status).toBe(400);
    expect(page(refusing, { limit: '20' }, 'research_jobs').data).toHaveLength(20);
  });

  it('is refused for a cursor that is not an ID', () => {
    expect(ask(stateWith({}), { starting_after: 'x' }, 'research_jobs').status).toBe(400);
    expect(ask(stateWith({ cursor: 'opaque' }), { starting_after: '1003' }, 'research_jobs').status).toBe(
      400,
    );
  });

  it('continues from an ID that no item has, with keyset paging', () => {
    const state = stateWith({ watchlist: 20 });
    const ids = truth(state);
    const between = String(Number(ids[5]) - 1);
    expect(ids).not.toContain(between);
    expect(
      page(state, { starting_after: between, limit: '2' }).data.map((item) => String(item['id'])),
    ).toEqual(ids.slice(6, 8));
  });

  it('is nested one level where the switch says so', () => {
    const answer = ask(stateWith({ envelope: 'nested', watchlist: 3 }), {}, 'watchlist');
    expect(JSON.parse(answer.body ?? '')).toMatchObject({
      object: 'list',
      result: { has_more: false, data: [{}, {}, {}] },
    });
  });
});
