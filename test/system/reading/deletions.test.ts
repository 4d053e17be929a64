import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import type { Mutation } from '@research-mirror/sandbox/control/mutation';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { createSystem, type Environment, type System } from '../../support/processes/system.ts';

/** Long enough to be seen, short enough to be waited for. */
const GRACE_PERIOD: Environment = { MIRROR_SETTLE: '1s' };
/** Longer than a stop may take: who waits for it is broken off. */
const PATIENT: Environment = { MIRROR_SETTLE: '50s' };
const BLOCKED =
  /the brake blocks deletions of watchlist.*\((\d+) of (\d+) rows\).*sync watchlist --full --accept-deletions/;

let system: System;
afterEach(() => system.close());

type Name = 'research_jobs' | 'bulk_research_jobs' | 'lists' | 'watchlist';

async function mirrored(switches: Partial<SandboxOptions> = {}, freeze = true): Promise<void> {
  system = await createSystem({ maxLimit: 50, badLimit: 'clamped', ...switches });
  await system.sandbox.control.clock({ freeze });
  await system.sync(['--full'], { env: GRACE_PERIOD });
  // Rows that came within the grace period may be unknown to a replica: they are not suspected yet. These came long ago.
  for (const table of ['research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist']) {
    await system.db.query(
      `update mirror.${table} set _changed_at = _changed_at - interval '1 hour',
         _first_seen_at = _first_seen_at - interval '1 hour'`,
    );
  }
}

async function ids(
  which: { collection: Name } | { collection: 'list_items'; list: string },
): Promise<string[]> {
  const truth = await system.sandbox.control.truth(which);
  return truth.map((text) => String(Object.values(JSON.parse(text) as Record<string, unknown>)[0]));
}

async function remove(collection: Name, gone: readonly string[]): Promise<void> {
  const mutations = gone.map((id): Mutation => ({ op: 'delete', collection, id }));
  await system.sandbox.control.mutate(...mutations);
}

/** One row's value. */
async function one<T>(text: string, values: unknown[] = []): Promise<T> {
  const { rows } = await system.db.query<{ value: T }>(text, values);
  if (rows[0] === undefined) throw new Error(`nothing answers ${text}`);
  return rows[0].value;
}

const deletedRows = (table: string): Promise<number> =>
  one(`select count(*)::int as value from mirror.${table} where _deleted_at is not null`);
const suspects = (): Promise<number> => one('select count(*)::int as value from mirror_sync.candidate');

describe('sync --full', () => {
  it('deletes what is gone, keeps its last image, takes a list’s items along, and brings back what returns', async () => {
    await mirrored({ lists: 12 });
    const [job = ''] = await ids({ collection: 'research_jobs' });
    const [list = '', other = ''] = await ids({ collection: 'lists' });
    const [item = ''] = await ids({ collection: 'list_items', list: other });
    await remove('research_jobs', [job]);
    await remove('lists', [list]);
    await system.sandbox.control.mutate({ op: 'delete', collection: 'list_items', list: other, id: item });
    const before = await one<Date>(`select min(complete_as_of) as value from mirror.freshness`);

    const report = await system.sync(['--full'], { env: GRACE_PERIOD });
    expect(await differences(system)).toEqual([]);
    const deleted = Object.fromEntries(report.collections.map((each) => [each.collection, each.deleted]));
    expect(deleted).toMatchObject({ research_jobs: 1, lists: 1, list_items: 21, watchlist: 0 });
    expect(await deletedRows('list_items')).toBe(21);
    expect(
      await one(`select count(*)::int as value from mirror.list_items_history where _op = 'delete'`),
    ).toBe(21);
    expect(
      (await one<Date>(`select min(complete_as_of) as value from mirror.freshness`)).getTime(),
    ).toBeGreaterThan(before.getTime());

    await system.sandbox.control.mutate(
      { op: 'restore', collection: 'research_jobs', id: job },
      { op: 'restore', collection: 'lists', id: list },
    );
    await systemClock.sleep(1_100);
    await system.sync(['--full'], { env: GRACE_PERIOD });
    expect(await differences(system)).toEqual([]);
    expect(await deletedRows('research_jobs')).toBe(0);
    // The one item that was deleted by itself.
    expect(await deletedRows('list_items')).toBe(1);
  });

  it('removes rows with MIRROR_DELETES=hard; their last image stays in the history', async () => {
    await mirrored();
    const [job = ''] = await ids({ collection: 'research_jobs' });
    await remove('research_jobs', [job]);
    await system.sync(['--full'], { env: { ...GRACE_PERIOD, MIRROR_DELETES: 'hard' } });
    expect(await differences(system)).toEqual([]);
    expect(
      await one('select count(*)::int as value from mirror.research_jobs where job_id = $1', [job]),
    ).toBe(0);
    expect(
      await one(
        `select count(*)::int as value from mirror.research_jobs_history where job_id = $1 and _op = 'delete'`,
        [job],
      ),
    ).toBe(1);
  });

  it.each(['last-updated', 'unordered'] as const)(
    'needs two equal walks, and no more, where the order proves nothing: %s',
    async (order) => {
      await mirrored({ order });
      const all = await ids({ collection: 'research_jobs' });
      await remove('research_jobs', [all[0], all[100], all.at(-1)].map(String));
      const report = await system.sync(['--full', 'research_jobs'], { env: GRACE_PERIOD });
      expect(report.collections[0]).toMatchObject({ deleted: 3, unproven: 0, error: null });
      expect(report.collections[0]?.requests).toBeLessThanOrEqual(2 * 6);
      expect(await differences(system)).toEqual([]);
    },
  );

  it('holds mass deletions back, tells so everywhere, and lets them go when they are accepted', async () => {
    await mirrored({ watchlist: 60 });
    const all = await ids({ collection: 'watchlist' });
    await remove('watchlist', all.slice(0, 40));
    const held = await system.run(['sync', '--full', 'watchlist'], GRACE_PERIOD);
    expect(held.code).toBe(1);
    expect(held.stderr).toMatch(BLOCKED);
    expect(BLOCKED.exec(held.stderr)?.slice(1)).toEqual(['40', '60']);
    expect(await deletedRows('watchlist')).toBe(0);
    expect(
      await one(
        `select held_deletions::int as value from mirror.data_quality where collection = 'watchlist'`,
      ),
    ).toBe(40);
    const status = await system.run(['status']);
    expect(status.code).toBe(1);
    expect(status.stdout.replaceAll(/\s+/g, ' ')).toMatch(BLOCKED);
    const asOf = `select complete_as_of as value from mirror.freshness where collection = 'watchlist'`;
    const before = await one<Date>(asOf);
    // A pass over what is new has nothing to do with it.
    await system.sync([], { env: GRACE_PERIOD });

    // Beside a daemon, too; and it reads nothing again and again for what the brake blocks.
    const daemon = await system.daemon({ ...GRACE_PERIOD, MIRROR_POLL_CRON: 'never' });
    await system.sync(['--full', 'watchlist'], { env: GRACE_PERIOD, code: 1 });
    const { requests } = await system.sandbox.control.counters();
    await systemClock.sleep(2_500);
    expect((await system.sandbox.control.counters()).requests - requests).toBeLessThanOrEqual(1);
    expect((await one<Date>(asOf)).getTime()).toBe(before.getTime());

    const report = await system.sync(['--full', '--accept-deletions', 'watchlist'], { env: GRACE_PERIOD });
    expect(report.collections[0]).toMatchObject({ deleted: 40, held: 0, liveRows: 20 });
    expect(await differences(system)).toEqual([]);
    expect((await one<Date>(asOf)).getTime()).toBeGreaterThan(before.getTime());
    const metrics = await (await fetch(`${daemon.statusUrl}/metrics`)).text();
    expect(metrics).toContain('research_mirror_rows_total{collection="watchlist",op="delete"} 40');
    await daemon.stop();
    expect((await system.run(['status'])).stdout).not.toMatch(BLOCKED);
  });

  it('ends at once when it is interrupted in the grace period, and says before what it waits for', async () => {
    await mirrored();
    const [gone = ''] = await ids({ collection: 'watchlist' });
    await remove('watchlist', [gone]);
    const running = system.begin(['sync', '--full', 'watchlist'], PATIENT);
    await eventually('a doubt', async () => (await suspects()) === 1);
    running.child.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    // In peace: who is broken off, after eight seconds, leaves its row.
    expect(await one('select count(*)::int as value from mirror_sync.process')).toBe(0);
    expect(stderr).toMatch(/watchlist \d+ \(1 missing, read again in \d+ s\)/);
    expect(await deletedRows('watchlist')).toBe(0);
  });

  it('asks for --full with --accept-deletions', async () => {
    system = await createSystem();
    const { code, stderr } = await system.run(['sync', '--accept-deletions']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/--accept-deletions goes with --full/);
  });
});

describe('a daemon', () => {
  const NEVER: Environment = { MIRROR_POLL_CRON: 'never', MIRROR_FULL_CRON: 'never' };

  it('reads again by itself what a poll found missing', async () => {
    await mirrored();
    const [gone = ''] = await ids({ collection: 'watchlist' });
    await remove('watchlist', [gone]);
    const daemon = await system.daemon({ ...GRACE_PERIOD, ...NEVER });
    await eventually('the deletion', async () => (await deletedRows('watchlist')) === 1);
    expect(await differences(system)).toEqual([]);
    expect((await daemon.stop()).code).toBe(0);
  });

  it('goes on after a stop in the grace period, and stops at once in it', async () => {
    await mirrored();
    const [gone = ''] = await ids({ collection: 'watchlist' });
    await remove('watchlist', [gone]);
    const first = await system.daemon({ ...PATIENT, ...NEVER });
    await eventually('a doubt', async () => (await suspects()) === 1);
    expect((await first.stop()).code).toBe(0);
    expect(await deletedRows('watchlist')).toBe(0);

    const second = await system.daemon({ ...GRACE_PERIOD, ...NEVER });
    await eventually('the deletion', async () => (await deletedRows('watchlist')) === 1);
    expect(await suspects()).toBe(0);
    await second.stop();
  });
});

describe('a replica that lags by less than the grace period', () => {
  it('deletes nothing that is there, and makes no history that never was', async () => {
    await mirrored({ watchlist: 60, staleMs: 700 }, false);
    await system.sandbox.control.change({ faultStale: 0.5 });
    for (let round = 0; round < 4; round += 1) {
      const all = await ids({ collection: 'watchlist' });
      await system.sandbox.control.mutate(
        { op: 'insert', collection: 'watchlist', fields: { note: `new ${round}` } },
        { op: 'update', collection: 'watchlist', id: String(all[3]), fields: { note: `changed ${round}` } },
        { op: 'delete', collection: 'watchlist', id: String(all[10]) },
      );
      for (let reads = 0; reads < 3; reads += 1) {
        await system.run(['sync', '--full', 'watchlist'], GRACE_PERIOD);
      }
    }
    await system.sandbox.control.change({ faultStale: 0 });
    await systemClock.sleep(1_100);
    // Jobs under way would go on.
    await system.sandbox.control.clock({ freeze: true });
    await system.sync(['--full'], { env: GRACE_PERIOD });
    expect(await differences(system)).toEqual([]);
    expect(await deletedRows('watchlist')).toBe(4);
    // What was deleted was deleted once, and no state came twice.
    const { rows } = await system.db.query(
      'select _op, count(*)::int as versions from mirror.watchlist_history group by _op order by _op',
    );
    expect(rows).toEqual([
      { _op: 'delete', versions: 4 },
      { _op: 'update', versions: expect.any(Number) as number },
    ]);
    const returned = await one<number>(
      `select count(*)::int as value from mirror.watchlist_versions v join mirror.watchlist_versions w
         on (w._user_id, w.id) = (v._user_id, v.id) and w._valid_from > v._valid_from and w._raw = v._raw`,
    );
    expect(returned).toBe(0);
  });
});
