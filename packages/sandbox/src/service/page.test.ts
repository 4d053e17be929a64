import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { mutate } from '../control/mutation.ts';
import { SandboxState } from '../sandbox-state.ts';
import { optionsWith } from '../../testing/sandbox.ts';
import { SANDBOX_SWITCHES, type SandboxOptions } from '../switches/sandbox-switches.ts';
import { readAll } from './page.ts';
import { respond } from './respond.ts';

interface Envelope {
  readonly data: readonly Record<string, unknown>[];
  readonly has_more?: boolean;
  readonly next_cursor?: string | null;
}

function listOf(options: Record<string, unknown>, collection: 'watchlist' | 'research_jobs' = 'watchlist') {
  const state = new SandboxState(optionsWith(options), new VirtualClock());
  const user = state.users.get(1001);
  if (user === undefined) throw new Error('no user');
  const ask = (given: Record<string, string>) => {
    const asked = {
      action: { kind: 'list' as const, collection },
      query: new URLSearchParams(given),
      body: '',
    };
    const time = state.data.now();
    const { status, body = '' } = respond({ user, ...asked, idempotencyKey: undefined, time }, state);
    const envelope = (status === 200 ? JSON.parse(body) : { data: [] }) as Envelope & { result?: Envelope };
    const { data, has_more: hasMore, next_cursor: next } = envelope.result ?? envelope;
    return { status, body, data, ids: data.map((item) => String(item['id'])), hasMore, next };
  };
  return {
    ask,
    /** IDs that the list answers now, read without paging. */
    truth: (): string[] => {
      const population = user.data.collection(collection);
      const all = readAll(population, state.rankings, state.options, state.data.now());
      return [...all].map((ref) => population.idOf(ref));
    },
    change: (op: 'insert' | 'update' | 'delete', id?: string, fields: Record<string, unknown> = {}) =>
      mutate(state, { op, collection, fields, ...(id === undefined ? {} : { id }) }),
  };
}

/** A plain walk: continues from the last item until `has_more` is false, or until nothing new comes. */
function walk({ ask }: ReturnType<typeof listOf>, limit: number, cursors = '') {
  const ids: string[] = [];
  let cursor: string | undefined;
  let repeats = 0;
  for (;;) {
    const got = ask({ limit: String(limit), ...(cursor === undefined ? {} : { starting_after: cursor }) });
    expect(got.status).toBe(200);
    if (cursor !== undefined && cursors === 'inclusive') expect(got.ids[0]).toBe(cursor);
    const fresh = got.ids.filter((id) => !ids.includes(id));
    repeats += got.ids.length - fresh.length;
    ids.push(...fresh);
    const { hasMore, next } = got;
    if (hasMore === false || next === null || (hasMore === undefined && fresh.length === 0)) return { ids, repeats };
    // A garbled cursor is ignored.
    cursor = (cursors === 'garbled' ? undefined : next) ?? ids.at(-1);
  }
}

/** Changes some items, deletes some, and inserts some between others, at the ends, and after all. */
function disturb({ truth, change }: ReturnType<typeof listOf>): void {
  const ids = truth();
  for (const index of [0, 3, 4, 5, 6, 20, 21]) change('delete', ids[index]);
  for (const index of [8, 15]) change('update', ids[index], { score: 1 });
  for (const id of ['1', '1021', '1037', '999999', undefined]) change('insert', id, { score: 3 });
}

const orders = SANDBOX_SWITCHES.order.choices ?? [];
const cursors = SANDBOX_SWITCHES.cursor.choices ?? [];
const ends = SANDBOX_SWITCHES.hasMore.choices ?? [];

describe.each(orders)('a plain walk in the order %s', (order) => {
  it.each(cursors.flatMap((cursor) => ends.map((hasMore) => [cursor, hasMore] as const)))(
    'reads every item once with the cursor %s and has_more %s',
    (cursor, hasMore) => {
      for (const watchlist of [0, 1, 7, 14, 48]) {
        const list = listOf({ order, cursor, hasMore, watchlist });
        if (watchlist === 48) disturb(list);
        const { ids, repeats } = walk(list, watchlist === 48 ? 2 : 7, cursor);
        expect(ids).toEqual(list.truth());
        if (cursor !== 'inclusive' && hasMore !== 'missing') expect(repeats).toBe(0);
      }
    },
  );
});

it('items that were inserted appear once each where their IDs have no order', () => {
  const list = listOf({ ids: 'uuid', watchlist: 3 });
  for (const id of ['x', 'y', 'z']) list.change('insert', id);
  const { ids } = walk(list, 1);
  expect(ids).toHaveLength(6);
  expect(ids).toEqual(expect.arrayContaining(['x', 'y', 'z']));
});

it('the orders sort by what their names say; creation has ties in which IDs do not fall', () => {
  const read = <T>(order: string, field: string): T[] =>
    listOf({ order, jobs: 300 }, 'research_jobs')
      .ask({ limit: '300' })
      .data.map((job) => job[field] as T);
  const falling = read<number>('falling', 'job_id');
  expect(falling).toEqual(falling.toSorted((a, b) => b - a));
  expect(read('rising', 'job_id')).toEqual(falling.toReversed());
  for (const [order, field] of Object.entries({ 'last-updated': 'updated_at', created: 'created_at' })) {
    const times = read<string>(order, field);
    expect(times).toEqual(times.toSorted().reverse());
  }
  const scores = read<number | null>('score', 'score').map((score) => score ?? -1);
  expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  for (const order of ['unordered', 'created']) {
    const ids = read<number>(order, 'job_id');
    expect(ids).not.toEqual(falling);
    expect(ids.toSorted((a, b) => b - a)).toEqual(falling);
  }
});

it.each<[SandboxOptions['cursor'], readonly string[], number, [from: number, to: number]]>([
  ['keyset', orders, 200, [10, 13]],
  ['position-400', ['falling'], 400, [0, 0]],
  ['position-404', ['falling'], 404, [0, 0]],
  ['unknown-ignored', ['falling'], 200, [0, 3]],
  ['unknown-empty', ['falling'], 200, [0, 0]],
])('a cursor whose item was deleted is what the switch says: %s', (cursor, of, status, [from, to]) => {
  for (const order of of) {
    const { ask, truth, change } = listOf({ cursor, order, watchlist: 20 });
    const ids = truth();
    change('delete', ids[9]);
    const after = ask({ limit: '3', starting_after: ids[9] ?? '' });
    expect([after.status, after.ids]).toEqual([status, ids.slice(from, to)]);
  }
});

describe('a page', () => {
  it.each([
    [{ jobs: 1000 }, [100, 500, 1]],
    [{ jobs: 1000, maxLimit: 100 }, [100, 400, 1]],
    [{ jobs: 1000, maxLimit: 100, badLimit: 'clamped' }, [100, 100, 1]],
    [{ jobs: 30, maxLimit: 20, smallLimit: 'ignored' }, [20, 400, 20]],
    [{ jobs: 30, maxLimit: 20, smallLimit: 'refused' }, [20, 400, 400]],
  ])('has 100 items by default and at most 500, or what switches say: %o', (switches, sizes) => {
    const { ask } = listOf(switches, 'research_jobs');
    const size = ({ status, data }: ReturnType<typeof ask>): number => (status === 200 ? data.length : status);
    expect([ask({}), ask({ limit: '500' }), ask({ limit: '1' })].map(size)).toEqual(sizes);
  });

  it('of a smaller limit may say that it is the last', () => {
    const more = ['taken', 'last'].map(
      (smallLimit) => listOf({ watchlist: 30, maxLimit: 20, smallLimit }).ask({ limit: '5' }).hasMore,
    );
    expect(more).toEqual([true, false]);
  });

  it.each(['0', '501', '-3', 'ten', '1.5', ''])('with limit %j is refused as the switch says', (limit) => {
    const switches = [{}, { badLimit: '422' }, { badLimit: 'clamped' }];
    expect(switches.map((each) => listOf(each).ask({ limit }).status)).toEqual([400, 422, 200]);
  });

  it('is refused for a cursor that is not an ID', () => {
    expect(listOf({}, 'research_jobs').ask({ starting_after: 'x' }).status).toBe(400);
    expect(listOf({ cursor: 'opaque' }).ask({ starting_after: '1003' }).status).toBe(400);
  });

  it('is nested one level where the switch says so', () => {
    const { body } = listOf({ envelope: 'nested', watchlist: 3 }).ask({});
    expect(JSON.parse(body)).toMatchObject({
      object: 'list',
      result: { has_more: false, data: [{}, {}, {}] },
    });
  });
});
