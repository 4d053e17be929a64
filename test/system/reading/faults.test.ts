import { afterAll, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { createSystem, type System } from '../../support/processes/system.ts';

const systems: System[] = [];
afterAll(() => Promise.all(systems.map((each) => each.close())));

async function create(switches: Partial<SandboxOptions> = {}): Promise<System> {
  const system = await createSystem(switches);
  systems.push(system);
  return system;
}

/** Far more than chance needs: some four. */
const MOST_PASSES = 60;

/** Passes until everything was read, as the daemon would repeat them. */
async function syncUntilDone(system: System): Promise<void> {
  for (let passes = 0; passes < MOST_PASSES; passes += 1) {
    const { code } = await system.run(['sync', '--full']);
    if (code === 0) return;
    expect(code).toBe(3);
  }
  throw new Error(`${MOST_PASSES} passes were not enough`);
}

const ERRORS: Partial<SandboxOptions> = {
  fault500: 0.06,
  fault503: 0.06,
  faultReset: 0.06,
  faultTruncated: 0.06,
  faultHtml: 0.04,
  faultGarbage: 0.04,
  faultError200: 0.04,
  faultSlow: 0.04,
  slowMs: 300,
};

describe('a service with faults is mirrored all the same', () => {
  it.each<[string, Partial<SandboxOptions>]>([
    ['errors, cut connections, broken bodies and slowness', ERRORS],
    ['refusals that have nothing to do with the request', { fault402: 0.02, fault409: 0.02 }],
  ])('in the end: %s', async (_, faults) => {
    const system = await create({ jobs: 4_000, maxLimit: 200, badLimit: 'clamped', lists: 10, ...faults });
    await system.sandbox.control.clock({ freeze: true });
    await syncUntilDone(system);
    expect(Object.keys((await system.sandbox.control.counters()).byFault)).not.toEqual([]);
    expect(await differences(system)).toEqual([]);
  });

  it('with the next pass, where it showed an empty collection once', async () => {
    const system = await create({ jobs: 4_000, maxLimit: 200, badLimit: 'clamped', faultEmpty: 0.2 });
    await system.sandbox.control.clock({ freeze: true });
    await syncUntilDone(system);
    expect((await system.sandbox.control.counters()).byFault).toHaveProperty('faultEmpty');
    await system.sandbox.control.change({ faultEmpty: 0 });
    await system.sync(['--full']);
    expect(await differences(system)).toEqual([]);
  });
});

describe('an answer that is no page', () => {
  // Side by side: most of their time they wait between the attempts of one request.
  it.concurrent.each<[string, Partial<SandboxOptions>, RegExp]>([
    ['an HTML page', { faultHtml: 1 }, /GET \/v1\/lists was answered 200, but .*HTML/i],
    ['broken JSON', { faultGarbage: 1 }, /GET \/v1\/lists was answered 200, but .*JSON/i],
    ['an error inside', { faultError200: 1 }, /GET \/v1\/lists was answered 200, but .*(data|list|error)/i],
    ['half of a body', { faultTruncated: 1 }, /GET \/v1\/lists was answered 200, but /],
    ['a redirect', { faultRedirect: 1 }, /GET \/v1\/lists was answered 302.*redirect/],
    ['a 500', { fault500: 1 }, /GET \/v1\/lists was answered 500/],
    ['a reset connection', { faultReset: 1 }, /GET \/v1\/lists: .* closed the connection/],
  ])('writes nothing, and is told with its page and the reason: %s', async (_, faults, told) => {
    const system = await create();
    await system.sync(['lists']);
    const stored = async (): Promise<unknown> =>
      (await system.db.query('select count(*), max(_change_id), count(_deleted_at) from mirror.lists')).rows;
    const before = await stored();
    await system.sandbox.control.change({ faultRoutes: 'lists', ...faults });
    const { code, stdout, stderr } = await system.run(['sync', '--json', '--full', 'lists']);
    expect(code).toBe(3);
    expect(stderr).toMatch(told);
    expect(JSON.parse(stdout)).toMatchObject({
      collections: [{ collection: 'lists', error: expect.stringMatching(told) as string }],
    });
    expect(await stored()).toEqual(before);
    const { rows } = await system.db.query<{ state: string; last_error: string }>(
      `select state, last_error from mirror.freshness where collection = 'lists'`,
    );
    expect(rows).toEqual([{ state: 'failing', last_error: expect.stringMatching(told) as string }]);
    const status = await system.run(['status']);
    expect(status.code).toBe(1);
    expect(status.stdout.replaceAll(/\s+/g, ' ')).toMatch(told);
  });
});
