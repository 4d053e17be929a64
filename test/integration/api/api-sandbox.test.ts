import { afterEach, describe, expect, it } from 'vitest';
import { createApi, type Api, type Exchange } from '../../../src/api/api.ts';
import { createTransport } from '../../../src/api/transport.ts';
import { PRIORITY } from '../../../src/budget/priorities.ts';
import { KeyRefused, RequestRefused } from '../../../src/model/errors.ts';
import { collection, type CollectionName, type ListCollection } from '../../../src/model/collections.ts';
import type { Item } from '../../../src/model/page.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { startSandbox, type Sandbox } from '@research-mirror/sandbox/start-sandbox';
import { SANDBOX_SWITCHES, type SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { HOSTILE_KINDS } from '@research-mirror/sandbox/world/hostile';
import { openBudget } from '../../support/budget/open-budget.ts';

// The client against the emulated service: what the specification leaves open, and what networks do.

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).toReversed()) await end();
});

/** A service that stands still, without rate limits, and a client that waits for nothing between attempts. */
async function client(options: Partial<SandboxOptions>, key = 'sandbox-key') {
  const sandbox = await startSandbox({ port: 0, controlPort: 0, limits: 'off', jobs: 300, ...options });
  open.push(sandbox.stop);
  await post(sandbox, '/clock', { freeze: true });
  const transport = createTransport({ baseUrl: sandbox.url, clock: systemClock, userAgent: 'test' });
  open.push(() => transport.close());
  const exchanges: Exchange[] = [];
  const api = createApi({
    transport,
    key,
    budget: openBudget(),
    clock: systemClock,
    random: () => 0,
    scrub: (text) => text,
    // A request meets 40 faults in a row once in 10^12 times, at a probability of a half.
    retries: { attempts: 40, baseMs: 1, capMs: 1, rateLimitedMs: 0 },
    onExchange: (exchange) => exchanges.push(exchange),
  });
  return { sandbox, api, exchanges };
}

async function post(sandbox: Sandbox, path: string, body: unknown): Promise<void> {
  const response = await fetch(sandbox.controlUrl + path, { method: 'POST', body: JSON.stringify(body) });
  expect(response.status).toBe(200);
}

/** Reads a list from its top to its end, by the simplest walk there is. */
async function readAll(api: Api, name: CollectionName, parent = '', limit = 50): Promise<Item[]> {
  const list = collection(name) as ListCollection;
  const items: Item[] = [];
  let cursor: string | undefined;
  for (;;) {
    const page = await api.page({
      path: list.path(parent),
      route: list.route,
      keyField: list.keyField,
      keyType: list.keyType,
      cursor,
      limit,
      priority: PRIORITY.FULL,
      signal: new AbortController().signal,
    });
    items.push(...page.items);
    if (page.hasMore === false || page.items.length === 0) return items;
    cursor = page.nextCursor ?? page.items.at(-1)?.key;
  }
}

/** The items as the service itself knows them, one JSON text each. */
async function truth(sandbox: Sandbox, query: string): Promise<string[]> {
  const response = await fetch(`${sandbox.controlUrl}/truth?${query}`);
  return (await response.text()).split('\n').filter((line) => line !== '');
}

describe('the client', () => {
  it.each<[string, Partial<SandboxOptions>]>([
    ['500', { fault500: 0.5 }],
    ['503', { fault503: 0.5 }],
    ['resets', { faultReset: 0.5 }],
    ['bodies that break off', { faultTruncated: 0.5 }],
    ['HTML', { faultHtml: 0.5 }],
    ['broken JSON', { faultGarbage: 0.5 }],
    ['errors inside a 200', { faultError200: 0.5 }],
    ['errors beside an empty page', { faultError200: 0.5, error200: 'beside-data' }],
    ['bodies that drip', { faultDrip: 0.5, slowMs: 5, fault500: 0.4 }],
    [
      'all of them',
      {
        fault500: 0.08,
        fault503: 0.08,
        faultReset: 0.08,
        faultTruncated: 0.08,
        faultHtml: 0.08,
        faultGarbage: 0.08,
        faultError200: 0.08,
      },
    ],
  ])('reads every item once, in spite of %s', async (_, faults) => {
    const { api, sandbox, exchanges } = await client(faults);
    const items = await readAll(api, 'research_jobs', '', 20);
    expect(items.map((item) => item.source)).toEqual(await truth(sandbox, 'collection=research_jobs'));
    expect(items).toHaveLength(300);
    expect(exchanges.filter((each) => each.error !== undefined).length).toBeGreaterThan(0);
  });

  it.each<Partial<SandboxOptions>>([
    { envelope: 'nested' },
    { envelope: 'nested', hasMore: 'full' },
    { envelope: 'nested', hasMore: 'missing' },
    { hasMore: 'missing' },
    { cursor: 'opaque' },
    { cursor: 'opaque', envelope: 'nested' },
    { cursor: 'garbled' },
    { ids: 'uuid' },
    { ids: 'odd' },
  ])('understands lists of the kind %j', async (options) => {
    const { api, sandbox } = await client({ lists: 3, itemsPerList: 70, ...options });
    const [list] = await readAll(api, 'lists');
    const items = await readAll(api, 'list_items', list?.key, 30);
    expect(items.map((item) => item.source)).toEqual(
      await truth(sandbox, `collection=list_items&list=${list?.key}`),
    );
    expect(new Set(items.map((item) => item.key)).size).toBe(70);
  });

  it('gives hostile items as they stand in the answer', async () => {
    const hostileKinds = HOSTILE_KINDS.filter((kind) => !kind.endsWith('-id')).join();
    const { api, sandbox } = await client({ jobs: 60, hostileShare: 0.5, hostileKinds });
    const items = await readAll(api, 'research_jobs', '', 10);
    expect(items.map((item) => item.source)).toEqual(await truth(sandbox, 'collection=research_jobs'));
    expect(items.every((item) => item.key !== undefined)).toBe(true);
  });

  it('gives items without a usable ID with the reason, beside the good ones', async () => {
    const { api } = await client({ jobs: 60, hostileShare: 0.5, hostileKinds: 'no-id,bad-id' });
    const items = await readAll(api, 'research_jobs', '', 500);
    expect(items).toHaveLength(60);
    const bad = items.filter((item) => item.key === undefined);
    expect(bad.length).toBeGreaterThan(0);
    expect(bad.every((item) => item.problem?.startsWith('has ') === true)).toBe(true);
  });

  it.each(['code', 'detail', 'details', 'message', 'text', 'html'] as const)(
    'classifies refusals by status, whatever the body says (%s)',
    async (errorBody) => {
      const { api } = await client({ errorBody, badKey: '403' }, 'wrong-key');
      await expect(readAll(api, 'lists')).rejects.toThrow(KeyRefused);
      const gone = await client({ errorBody });
      await expect(readAll(gone.api, 'list_items', '999999')).rejects.toMatchObject({
        name: 'RequestRefused',
        status: 404,
        message: expect.stringMatching(/^GET \/v1\/lists\/999999 was answered 404: \S/) as string,
      });
    },
  );

  it.each<[string, Partial<SandboxOptions>, number]>([
    ['402', { fault402: 1 }, 402],
    ['409', { fault409: 1 }, 409],
    ['a redirect', { faultRedirect: 1 }, 302],
  ])('asks once when it meets %s', async (_, options, status) => {
    const { api, exchanges } = await client(options);
    const refused = await readAll(api, 'research_jobs').catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RequestRefused);
    expect(refused).toMatchObject({ status });
    expect(exchanges).toHaveLength(1);
  });

  it('reads ping and account, in every shape of credits', async () => {
    for (const credits of SANDBOX_SWITCHES.credits.choices as readonly SandboxOptions['credits'][]) {
      const { api } = await client({ credits });
      const request = { priority: PRIORITY.POLL, signal: new AbortController().signal };
      const ping = await api.object({ path: '/v1/ping', route: '/v1/ping', ...request });
      expect(ping.fields).toMatchObject({ object: 'ping', status: 'ok', user_id: 1001 });
      const account = await api.object({ path: '/v1/account', route: '/v1/account', ...request });
      expect(Object.keys(account.fields)).toContain('credits');
    }
  });
});
