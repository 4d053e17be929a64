import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import type { Mutation } from '@research-mirror/sandbox/control/mutation';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { builtProgram } from '../../support/processes/built-programs.ts';
import { accountEnv } from '../../support/processes/program.ts';
import { createFrozenSystem, type Environment, type System } from '../../support/processes/system.ts';
import { blocksOf } from '../../support/readme/readme.ts';
import { ROOT } from '../../support/rules/source-files.ts';

/** Long enough to be seen, short enough to be waited for. */
const GRACE_PERIOD: Environment = { MIRROR_SETTLE: '1s' };
/** Longer than a stop may take: who waits for it is broken off. */
const PATIENT: Environment = { MIRROR_SETTLE: '50s' };
const BLOCKED =
  /the brake blocks deletions of watchlist.*\((\d+) of (\d+) rows\).*sync watchlist --full --accept-deletions/;

let system: System;
afterEach(() => system.close());

/** A mirrored account, its watchlist long ago: what came within the grace period is not suspected. */
async function mirrored(switches: Partial<SandboxOptions> = {}): Promise<void> {
  system = await createFrozenSystem(switches);
  await system.sync(['--full'], { env: GRACE_PERIOD });
  await system.db.query(`update mirror.watchlist set _changed_at = _changed_at - interval '1 hour',
       _first_seen_at = _first_seen_at - interval '1 hour'`);
}

/** The first `count` entries go. @returns what brings them back */
async function remove(count: number): Promise<() => Promise<unknown>> {
  const { control } = system.sandbox;
  const all = await control.truth({ collection: 'watchlist' });
  const ids = all.slice(0, count).map((text) => String((JSON.parse(text) as { id: unknown }).id));
  const mutate = (op: 'delete' | 'restore') =>
    control.mutate(...ids.map((id): Mutation => ({ op, collection: 'watchlist', id })));
  await mutate('delete');
  return () => mutate('restore');
}

/** What the commands of docs/deletions.md print that ask the service, without their pauses. */
async function askedOfService(): Promise<string[]> {
  const page = readFileSync(join(ROOT, 'docs', 'deletions.md'), 'utf8');
  const block = blocksOf(page).find(({ code }) => code.includes('curl'));
  const program = `"${process.execPath}" "${await builtProgram('main')}"`;
  const script = `npx() { shift; ${program} "$@"; }\nsleep() { :; }\n${block?.code.replace('account=42', 'account=1001') ?? 'exit 1'}`;
  const env = { ...process.env, ...accountEnv(system.databaseUrl, system.sandbox) };
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: system.cwd, env });
  return stdout.trim().split(/\n */);
}

const deletedRows = (): Promise<number> =>
  system.one('select count(*)::int from mirror.watchlist where _deleted_at is not null');
const suspects = (): Promise<number> => system.one('select count(*)::int from mirror_sync.candidate');

describe('sync --full', () => {
  it('holds mass deletions back, tells so everywhere, and lets them go when they are accepted', async () => {
    await mirrored({ watchlist: 60 });
    await remove(40);
    const held = await system.run(['sync', '--full', 'watchlist'], GRACE_PERIOD);
    expect(held.code).toBe(1);
    expect(held.stderr).toMatch(BLOCKED);
    expect(BLOCKED.exec(held.stderr)?.slice(1)).toEqual(['40', '60']);
    expect(await deletedRows()).toBe(0);
    const blocked = `select held_deletions::int from mirror.data_quality where collection = 'watchlist'`;
    expect(await system.one(blocked)).toBe(40);
    const status = await system.run(['status']);
    expect(status.code).toBe(1);
    expect(status.stdout.replaceAll(/\s+/g, ' ')).toMatch(BLOCKED);
    const asOf = `select complete_as_of from mirror.freshness where collection = 'watchlist'`;
    const before = await system.one<Date>(asOf);
    // A pass over what is new has nothing to do with it.
    await system.sync([], { env: GRACE_PERIOD });

    // Beside a daemon, too; and it reads nothing again and again for what the brake blocks.
    const daemon = await system.daemon({ ...GRACE_PERIOD, MIRROR_POLL_CRON: 'never' });
    await system.sync(['--full', 'watchlist'], { env: GRACE_PERIOD, code: 1 });
    const { requests } = await system.sandbox.control.counters();
    await systemClock.sleep(2_500);
    expect((await system.sandbox.control.counters()).requests - requests).toBeLessThanOrEqual(1);
    expect((await system.one<Date>(asOf)).getTime()).toBe(before.getTime());

    const report = await system.sync(['--full', '--accept-deletions', 'watchlist'], { env: GRACE_PERIOD });
    expect(report.collections[0]).toMatchObject({ deleted: 40, held: 0, liveRows: 20 });
    // The daemon did it; who asked came with the command.
    const { rows: acts } = await system.db.query('select act, arguments, os_user from mirror.operator_log');
    const given = { collection: 'watchlist', deleted: 40, along: {} };
    const osUser = `${userInfo().username}@${hostname()}`;
    expect(acts).toEqual([{ act: 'sync --accept-deletions', arguments: given, os_user: osUser }]);
    expect(await differences(system)).toEqual([]);
    expect((await system.one<Date>(asOf)).getTime()).toBeGreaterThan(before.getTime());
    const metrics = await (await fetch(`${daemon.statusUrl}/metrics`)).text();
    expect(metrics).toContain('research_mirror_rows_total{collection="watchlist",op="delete"} 40');
    await daemon.stop();
    expect((await system.run(['status'])).stdout).not.toMatch(BLOCKED);
  });

  it('is blocked by what the service still has, as the commands of docs/deletions.md find out', async () => {
    await mirrored({ watchlist: 600 });
    const restore = await remove(200);
    await system.sync(['--full', 'watchlist'], { env: GRACE_PERIOD, code: 1 });
    expect(await askedOfService()).toEqual(['400 at-the-service.txt', '5 blocked.txt', '405 total']);

    await restore();
    const [count, compared, , ...keys] = await askedOfService();
    expect([count, compared]).toEqual(['600 at-the-service.txt', '5 blocked.txt']);
    expect(keys).toHaveLength(5);
    const suspected = await system.one<string[]>('select array_agg(key) from mirror_sync.candidate');
    expect(suspected).toEqual(expect.arrayContaining(keys));
    await system.sync(['--full', 'watchlist'], { env: GRACE_PERIOD });
    expect(await suspects()).toBe(0);
    expect((await system.run(['status'])).stdout).not.toMatch(BLOCKED);
  });

  it('ends at once when it is interrupted in the grace period, and says before what it waits for', async () => {
    await mirrored();
    await remove(1);
    const running = system.begin(['sync', '--full', 'watchlist'], PATIENT);
    await eventually('a doubt', async () => (await suspects()) === 1);
    await running.until('1 missing, read again in');
    running.child.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    // In peace: who is broken off, after eight seconds, leaves its row.
    expect(await system.one('select count(*)::int from mirror_sync.process')).toBe(0);
    expect(stderr).toMatch(/watchlist \d+ \(1 missing, read again in \d+ s\)/);
    expect(await deletedRows()).toBe(0);
  });
});
