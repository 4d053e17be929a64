import { afterAll, beforeAll, expect, describe, it } from 'vitest';
import {
  EVENT_SWITCHES,
  isLive,
  SANDBOX_SWITCHES,
  type SandboxOptions,
  SWITCH_NAMES,
} from '@research-mirror/sandbox/switches/sandbox-switches';
import { HOSTILE_KINDS } from '@research-mirror/sandbox/world/hostile';
import { testDatabase } from '../support/databases/migrated-database.ts';
import { type HostileAccount, type HostileService, startHostileService } from './hostile-service.ts';
import { hostileDifferences } from './hostile-truth.ts';

// Each switch of the sandbox, each of its values once, against the mirror as the daemon composes it: what the
// specification leaves open must cost nothing but time. Pairs of values: test/attack.

type SwitchName = keyof SandboxOptions;
type Variant = Partial<SandboxOptions>;

/** Switches of which other tests play the values, by which. */
const ELSEWHERE: Readonly<Record<string, readonly SwitchName[]>> = {
  'what every test begins with': ['host', 'port', 'controlPort', 'keys', 'seed', 'epoch', 'limits'],
  sizes: ['jobs', 'bulkJobs', 'lists', 'itemsPerList', 'watchlist', 'latencyMin', 'jobSeconds'],
  'lags: test/grace-period': ['staleMs', 'cacheMs'],
  'rates: user-data.test.ts, system tests and benches': SWITCH_NAMES.filter((name) => name.endsWith('PerMinute')),
  'rate-limiter.test.ts, budget tests, bench real-limits': SWITCH_NAMES.filter((name) =>
    /^limit(Clay|Research|Heavy|Sequence|Global)$/.test(name),
  ),
  'rate-limiter.test.ts; budget: rate-headers.test.ts, budget.test.ts': ['retryAfter', 'countRefused'],
  "the demo's world: memory.test.ts, test/system/demo": ['memory', 'ageDays', 'overlap', 'jobCredits'],
  'start-sandbox.test.ts; keys.test.ts': ['missingKey'],
  'hostile.test.ts; test/system/reading/hostile-items.test.ts': ['megabytes'],
  'nothing that is read': ['postStatus', 'idempotency', 'faultEffect'],
  'nothing that is read: the workspace sandbox, and the tests of webhooks': Object.keys(EVENT_SWITCHES) as SwitchName[],
};
const PLAYED = SWITCH_NAMES.filter((name) => !Object.values(ELSEWHERE).flat().includes(name));

/** How the service always is: row n has the nth value of each of these switches. */
const MANNERS = PLAYED.filter(
  (name) =>
    SANDBOX_SWITCHES[name].kind === 'choice' &&
    isLive(name) &&
    !['error200', 'emptySays', 'badKey', 'faultRoutes', 'cacheTells'].includes(name),
);
const MANNER_ROWS: readonly Variant[] = Array.from({ length: 8 }, (_, n) => ({
  ...Object.fromEntries(
    MANNERS.map((name) => {
      const { choices = [] } = SANDBOX_SWITCHES[name];
      return [name, choices[n % choices.length]];
    }),
  ),
  // Far more than is asked for: the headers are read, and nothing is refused.
  limits: 'on',
  limitOther: 1000,
  // So that `errorBody` is seen.
  fault500: 0.1,
}));

const eachOf = (name: 'cacheTells' | 'error200', fault: Variant): Variant[] =>
  (SANDBOX_SWITCHES[name].choices ?? []).map((value) => ({ ...fault, [name]: value }));

/** What happens to it now and then. The last three: an empty list can't be told from a list that is empty. */
const FAULT_ROWS: readonly Variant[] = [
  { fault500: 0.25, latencyMax: 5 },
  { fault503: 0.25 },
  { fault402: 0.25 },
  { fault409: 0.25, faultRoutes: 'lists' },
  { fault408: 0.25 },
  { fault425: 0.25 },
  { faultReset: 0.25 },
  { faultResetEarly: 0.25 },
  { faultTruncated: 0.25 },
  { faultHtml: 0.25 },
  { faultGarbage: 0.25 },
  { faultRedirect: 0.25 },
  { faultStale: 0.25 },
  ...eachOf('cacheTells', { faultCached: 0.25 }),
  { faultSlow: 0.25, slowMs: 10 },
  { faultDrip: 0.25, slowMs: 10 },
  { faultRepeated: 0.25 },
  { faultIgnored: 0.25 },
  { faultKey: 0.1, badKey: '401' },
  { faultKey: 0.1, badKey: '403', faultRoutes: 'all' },
  ...eachOf('error200', { faultError200: 0.25 }),
  { faultEmpty: 0.25, emptySays: 'more' },
  { faultEmpty: 0.25, emptySays: 'end' },
];

const LARGE = ['long', 'megabyte'];
const SMALL = HOSTILE_KINDS.filter((kind) => !LARGE.includes(kind) && kind !== 'many-fields');
const VALUE_ROWS: readonly Variant[] = [
  { hostileShare: 0.8, hostileKinds: SMALL.join() },
  { hostileShare: 0.1, hostileKinds: LARGE.join(), maxLimit: 100 },
  { maxLimit: 1 },
];

/** Forms of IDs, with which a service is born. Where no key fits, a page must hold the whole list: no cursor is left. */
const BORN_ROWS: readonly Variant[] = (SANDBOX_SWITCHES.ids.choices ?? []).map((ids, n) => {
  const { choices = [] } = SANDBOX_SWITCHES.numericIds;
  const numericIds = choices[n % choices.length];
  return { ids, numericIds, maxLimit: /63|uuid/.test(numericIds ?? '') ? 100 : 7 } as Variant;
});

/** States that take their time, and items that are committed late. */
const MOVING: Variant = {
  newJobsPerMinute: 60,
  newListItemsPerMinute: 20,
  lateShare: 0.5,
  lateSeconds: 20,
  jobSeconds: 5,
  failedShare: 0.4,
  retriedShare: 0.5,
  stuckShare: 0.2,
};

const ROWS = [...MANNER_ROWS, ...FAULT_ROWS, ...VALUE_ROWS];
const named = (rows: readonly Variant[]): [string, Variant][] => rows.map((row) => [JSON.stringify(row), row]);

it('the table of variants has every switch, and every value of those that choose among some', () => {
  const played = new Set(
    [...ROWS, ...BORN_ROWS, MOVING].flatMap((row) =>
      Object.entries(row).flatMap(([name, value]) => [`${name}: ${value}`, `${name}: a value`]),
    ),
  );
  const wanted = PLAYED.flatMap((name) =>
    (SANDBOX_SWITCHES[name].choices ?? ['a value']).map((value) => `${name}: ${value}`),
  );
  // POST operations alone: nothing is read of them.
  expect(wanted.filter((each) => !played.has(each))).toEqual(['faultRoutes: posts']);
});

const mirror = testDatabase();

/** What is wrong after everything was read twice: the mirror holds what it must, and is written once. */
async function problemsOf(service: HostileService, account: HostileAccount): Promise<string[]> {
  const first = await account.readAll();
  const differences = await hostileDifferences(service, account.userId);
  const again = await account.readAll();
  expect(again).toEqual({ written: 0, quarantined: first.quarantined });
  return [...differences, ...(await hostileDifferences(service, account.userId))];
}

describe('whatever the service is like, the mirror holds what it must, and writes it once', () => {
  let service: HostileService;
  let usual: Variant;
  beforeAll(async () => {
    service = await startHostileService(mirror);
    const options = Object.entries(await service.sandbox.control.change({}));
    usual = Object.fromEntries(options.filter(([name]) => isLive(name as SwitchName)));
  });
  afterAll(() => service.close());

  it.each(named(ROWS))('%s', async (_, variant) => {
    await service.sandbox.control.change({ ...usual, ...variant });
    const account = await service.account();
    try {
      if (variant.faultEmpty !== undefined && variant.emptySays === 'end') {
        // An empty first page is what an empty list answers: what was read under it is true, but not all.
        await account.readAll();
        const wrong = await hostileDifferences(service, account.userId);
        expect(wrong.filter((line) => !line.endsWith('is no row'))).toEqual([]);
        await service.sandbox.control.change({ faultEmpty: 0 });
        await account.readAll();
      }
      if (variant.faultStale !== undefined || variant.faultCached !== undefined) {
        // What came or changed within the lag is as it was, until a replica that does not lag answers.
        await account.readAll();
        await service.sandbox.control.change({ faultStale: 0, faultCached: 0 });
        await account.readAll();
      }
      expect(await problemsOf(service, account)).toEqual([]);
    } finally {
      await account.close();
    }
  });
});

it.each(named(BORN_ROWS))('whatever IDs look like: %s', async (_, variant) => {
  const service = await startHostileService(mirror, variant);
  const account = await service.account();
  expect(await problemsOf(service, account)).toEqual([]);
  await account.close();
  await service.close();
});

it('items that come late, and states that are taken back, are mirrored by polls alone', async () => {
  const service = await startHostileService(mirror, MOVING);
  const account = await service.account();
  await account.readAll();
  for (let step = 1; step <= 6; step += 1) {
    await service.sandbox.control.clock({ advanceMs: step * 10_000 });
    await account.readAll('current');
    expect(await hostileDifferences(service, account.userId)).toEqual([]);
  }
  await account.close();
  await service.close();
});
