import type { Problem } from '../../../src/status/problem.ts';
import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { createFrozenSystem, type System } from '../../support/processes/system.ts';

const [FIRST, SECOND] = ['first-key', 'second-key'];
const nameOf = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 8);
const QUICK = { MIRROR_SETTLE: '1s' };
const BOTH = { ...QUICK, MIRROR_API_KEY: `${FIRST},${SECOND}` };

let system: System;
afterEach(() => system.close());

/** How often the service was asked with a key, by its place among the sandbox's. */
async function askedWith(key: number): Promise<number> {
  return (await system.sandbox.control.log()).filter((record) => record.key === key).length;
}

const rowsOf = (user: number): Promise<number> =>
  system.one('select count(*)::int from mirror.research_jobs where _user_id = $1 and _deleted_at is null', user);

describe('of two keys of one account, one that answers for another', () => {
  it('is marked and not used, also after a restart; the other one goes on', async () => {
    system = await createFrozenSystem({ keys: `${FIRST}=1001,${SECOND}=1001`, jobs: 8 });
    const { control } = system.sandbox;
    await system.sync(['--full'], { env: BOTH });

    await control.change({ keys: `${FIRST}=2002,${SECOND}=1001` });
    expect((await system.run(['sync', '--full'], BOTH)).code).toBe(3);
    await control.resetCounters();
    await system.sync(['--full'], { env: BOTH });
    expect(await differences(system, 1001)).toEqual([]);
    expect(await rowsOf(2002)).toBe(0);
    expect(await askedWith(0)).toBe(0);
    expect(await askedWith(1)).toBeGreaterThan(0);

    const moved = `API key ${nameOf(FIRST)}… belongs to account 2002, not 1001`;
    const { code, stdout } = await system.run(['status', '--json'], BOTH);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      problems: [{ what: expect.stringContaining(moved) as string }],
      accounts: [{ userId: '1001', state: 'active', error: null }],
    });
    // A key that is no longer configured is no problem.
    expect((await system.run(['status'], { ...QUICK, MIRROR_API_KEY: SECOND })).code).toBe(0);
  });
});

describe('a key that answers for another account under a running daemon', () => {
  it('stops the account, and says since when what may be the other’s was written; move gives each its own', async () => {
    system = await createFrozenSystem({ keys: `${FIRST}=1001,other-key=2002`, jobs: 8 });
    const { control } = system.sandbox;
    const env = { ...QUICK, MIRROR_API_KEY: FIRST };
    const daemon = await system.daemon(env);
    await eventually('the first load', async () => (await differences(system, 1001)).length === 0);

    // Within the minute of the last proof, the other account's pages are taken for the own one's; what is made of all of
    // them together is not.
    const fields = { status: 'foreign' };
    await control.mutate({ op: 'insert', user: 2002, collection: 'research_jobs', fields });
    const before = await rowsOf(1001);
    await control.change({ keys: `${FIRST}=2002` });
    expect((await system.run(['sync', '--full'], env)).code).toBe(3);
    await daemon.until('account 1001 has stopped');
    await daemon.until('account 1001 is not mirrored');
    await control.resetCounters();
    const { code, stdout } = await system.run(['status', '--json'], env);
    expect(code).toBe(1);
    const { problems } = JSON.parse(stdout) as { problems: Problem[] };
    const moved = `API key ${nameOf(FIRST)}… belongs to account 2002, not 1001`;
    // Said once, by the account.
    expect(problems).toMatchObject([
      { what: expect.stringContaining(`account has stopped: ${moved}`) as string, affects: ['1001'] },
    ]);
    const told = problems[0]?.what ?? '';
    expect(told).toContain('research-mirror accounts move 1001');
    const since = /rows with a _changed_at since (\S+) may belong to the other account/.exec(told)?.[1];
    const { rows: foreign } = await system.db.query<{ isTold: boolean }>(
      `select _changed_at >= $1 as "isTold" from mirror.research_jobs
       where _user_id = 1001 and _raw ->> 'status' = 'foreign'`,
      [since],
    );
    expect(foreign.filter(({ isTold }) => !isTold)).toEqual([]);
    // Nothing of its own was deleted, and nothing more is asked.
    expect(await rowsOf(1001)).toBe(before + foreign.length);
    expect((await control.counters()).requests).toBe(0);
    expect(await daemon.stop()).toMatchObject({ code: 0 });

    expect((await system.run(['accounts', 'move', '1001'], env)).code).toBe(0);
    const own = await rowsOf(1001);
    await system.sync(['--full'], { env });
    expect(await differences(system, 2002)).toEqual([]);
    expect(await rowsOf(1001)).toBe(own);

    // And back.
    await control.change({ keys: `${FIRST}=1001` });
    expect((await system.run(['sync', '--full'], env)).code).toBe(3);
    expect((await system.run(['accounts', 'move', '2002'], env)).code).toBe(0);
    // Lists, too, may have been taken for its own: so many that the brake blocks their deletion.
    await system.sync(['--full', '--accept-deletions'], { env });
    expect(await differences(system, 1001)).toEqual([]);
    expect(await differences(system, 2002)).toEqual([]);
  });
});
