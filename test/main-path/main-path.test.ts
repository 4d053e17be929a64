import { afterAll, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { differences, rowVersions } from '../support/mirror/mirror-truth.ts';
import { runs } from '../support/effort.ts';
import { createFrozenSystem, type System } from '../support/processes/system.ts';

const systems: System[] = [];
afterAll(() => Promise.all(systems.map((each) => each.close())));

async function frozen(switches: Partial<SandboxOptions>): Promise<System> {
  const system = await createFrozenSystem(switches);
  systems.push(system);
  return system;
}

const ORDERS = ['falling', 'rising', 'created', 'last-updated', 'score', 'unordered'] as const;

const MANNERS: readonly [string, Partial<SandboxOptions>][] = [
  ['cursors are places of existing items', { cursor: 'position-404' }],
  ['cursors include their item', { cursor: 'inclusive' }],
  ['cursors are opaque', { cursor: 'opaque' }],
  ['unknown cursors give the first page', { cursor: 'unknown-ignored', order: 'score' }],
  ['has_more says that the page was full', { hasMore: 'full' }],
  ['has_more is missing, the order rising', { hasMore: 'missing', order: 'rising' }],
  ['envelopes are nested, IDs are UUIDs', { envelope: 'nested', ids: 'uuid' }],
  ['a limit of 500 is refused', { maxLimit: 100, badLimit: '422' }],
  ['times have no zone, states are null', { times: 'none', states: 'null' }],
];

const total = (report: { collections: readonly { inserted: number; updated: number }[] }): number =>
  report.collections.reduce((sum, { inserted, updated }) => sum + inserted + updated, 0);

describe('sync --full', () => {
  it.each(ORDERS.slice(0, runs(1, ORDERS.length)))(
    'makes the mirror equal to the service in every field, and writes nothing the second time: order %s',
    async (order) => {
      const system = await frozen({ order, jobs: 3_000, lists: 20, itemsPerList: 50, watchlist: 150 });
      const begun = performance.now();
      const first = await system.sync(['--full']);
      const minutes = (performance.now() - begun) / 60_000;
      expect(await differences(system)).toEqual([]);
      expect(first.rateLimited).toBe(0);
      const { requests, byRouteAndStatus } = await system.sandbox.control.counters();
      const pings = byRouteAndStatus['GET /v1/ping 200'] ?? 0;
      expect(first.requests).toBe(requests - pings);
      // They tell whose the key is: to find its account, before the first page, after the last page of each of the five
      // other collections, and once a minute.
      expect(pings).toBeLessThanOrEqual(1 + 1 + 5 + minutes);
      const read = Object.fromEntries(first.collections.map((each) => [each.collection, each.items]));
      const lists = { lists: 20, list_items: 1_000, watchlist: 150 };
      expect(read).toEqual({ account: 1, research_jobs: 3_000, bulk_research_jobs: 10, ...lists });
      expect(total(first)).toBe(1 + 3_000 + 10 + 20 + 1_000 + 150);
      expect(first.collections.map((each) => each.error)).toEqual(Array(6).fill(null));

      const before = await rowVersions(system.db);
      const again = await system.sync(['--full']);
      expect(total(again)).toBe(0);
      expect(await rowVersions(system.db)).toBe(before);
      expect(await differences(system)).toEqual([]);
    },
  );

  it.each(MANNERS.slice(0, runs(1, MANNERS.length)))('works where %s', async (_, switches) => {
    const system = await frozen({ jobs: 1_000, watchlist: 500, ...switches });
    await system.sync(['--full']);
    expect(await differences(system)).toEqual([]);
    expect(total(await system.sync(['--full']))).toBe(0);
  });
});
