import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { httpSandbox } from '../../testing/http-sandbox.ts';
import { SWITCH_NAMES, type SandboxOptions } from '../switches/sandbox-switches.ts';

const { sandbox, ask } = httpSandbox();
const get = (path = '/v1/research', asking: Parameters<typeof ask>[1] = {}) => ask(path, asking);

/** Switches all faults off. */
afterEach(async () => {
  const off = SWITCH_NAMES.filter((name) => /^fault(?!Routes|Effect)/.test(name)).map((name) => [name, 0]);
  await sandbox.control.change({
    ...(Object.fromEntries(off) as Partial<SandboxOptions>),
    faultRoutes: 'all',
    faultEffect: 'undone',
    error200: 'error',
    emptySays: 'end',
  });
});

function idsOf(text: string): string[] {
  return (JSON.parse(text) as { data: { id: number }[] }).data.map(({ id }) => String(id));
}

function jobs(): Promise<number> {
  return sandbox.control.count({ collection: 'research_jobs' });
}

describe('a fault', () => {
  it.each([
    ['fault500', 500],
    ['fault503', 503],
    ['fault402', 402],
    ['fault408', 408],
    ['fault425', 425],
    ['fault409', 409],
    ['faultRedirect', 302],
  ] as const)('%s answers %i', async (fault, status) => {
    await sandbox.control.change({ [fault]: 1 });
    expect((await get()).status).toBe(status);
    expect((await sandbox.control.counters()).byFault[fault]).toBe(1);
  });

  it.each([
    ['faultHtml', /^<!DOCTYPE html>/],
    ['faultGarbage', /"compl$/],
    ['faultEmpty', /^\{"object":"list","data":\[\],"has_more":false\}$/],
  ] as const)('%s answers 200 with what is no page of items', async (fault, pattern) => {
    await sandbox.control.change({ [fault]: 1 });
    const { status, text } = await get();
    expect(status).toBe(200);
    expect(text).toMatch(pattern);
  });

  it.each(['faultReset', 'faultResetEarly', 'faultTruncated'] as const)(
    '%s cuts the connection',
    async (fault) => {
      await sandbox.control.change({ [fault]: 1 });
      await expect(get()).rejects.toThrow(/fetch failed|terminated/);
      expect((await sandbox.control.counters()).byRouteAndStatus['GET /v1/research cut']).toBeGreaterThan(0);
      expect((await sandbox.control.counters()).inFlight).toBe(0);
    },
  );

  it('lets a lagging replica answer', async () => {
    await sandbox.control.change({ faultStale: 1, staleMs: 100_000 });
    await sandbox.control.clock({ freeze: true });
    const before = (await get()).text;
    const [id = ''] = await sandbox.control.mutate({ op: 'insert', collection: 'research_jobs' });
    await sandbox.control.clock({ advanceMs: 99_000 });
    expect((await get()).text).not.toContain(`"job_id":${id},`);
    await sandbox.control.clock({ advanceMs: 1000 });
    expect((await get()).text).toContain(`"job_id":${id},`);
    expect(before).not.toContain(`"job_id":${id},`);
    await sandbox.control.clock({ resume: true });
  });

  it.each([
    ['error', /^\{"error":\{"code"/],
    ['errors', /^\{"errors":\[/],
    ['success', /^\{"success":false/],
    ['beside-data', /^\{"object":"list","data":\[\],"has_more":false,"error"/],
  ] as const)('puts an error of the kind %s inside a 200', async (error200, pattern) => {
    await sandbox.control.change({ faultError200: 1, error200 });
    expect(await get()).toMatchObject({ status: 200, text: expect.stringMatching(pattern) as string });
  });

  it('may say that more items follow an empty page', async () => {
    await sandbox.control.change({ faultEmpty: 1, emptySays: 'more' });
    expect((await get()).text).toBe('{"object":"list","data":[],"has_more":true}');
  });

  it('repeats the page that was asked for before on the same list', async () => {
    const first = idsOf((await get('/v1/watchlist?limit=3')).text);
    const second = idsOf((await get(`/v1/watchlist?limit=3&starting_after=${first.at(-1)}`)).text);
    await sandbox.control.change({ faultRepeated: 1 });
    const after = `/v1/watchlist?limit=3&starting_after=${second.at(-1)}`;
    expect(idsOf((await get(after)).text)).toEqual(second);
    expect(idsOf((await get(after)).text)).not.toEqual(second);
  });

  it('ignores the cursor', async () => {
    const first = idsOf((await get('/v1/watchlist?limit=3')).text);
    await sandbox.control.change({ faultIgnored: 1 });
    expect(idsOf((await get(`/v1/watchlist?limit=3&starting_after=${first.at(-1)}`)).text)).toEqual(first);
  });

  it('refuses a good key', async () => {
    await sandbox.control.change({ faultKey: 1 });
    expect((await get('/v1/ping')).status).toBe(401);
  });

  it('sends headers at once and the end of the body late', async () => {
    await sandbox.control.change({ faultDrip: 1, slowMs: 1 });
    expect(idsOf((await get('/v1/watchlist')).text).length).toBeGreaterThan(50);
    expect((await sandbox.control.counters()).inFlight).toBe(0);
    await sandbox.control.change({ slowMs: 600_000 });
    const leave = new AbortController();
    const response = await fetch(`${sandbox.url}/v1/watchlist`, {
      headers: { authorization: `Bearer ${sandbox.key}` },
      signal: leave.signal,
    });
    const body = response.text().catch(() => 'broken off');
    expect(await Promise.race([body, sandbox.control.counters()])).toMatchObject({ inFlight: 1 });
    leave.abort();
    expect(await body).toBe('broken off');
  });

  it('makes an answer slow: an impatient client gets none', async () => {
    await sandbox.control.change({ faultSlow: 1, slowMs: 60_000 });
    const impatient = get('/v1/ping', { signal: AbortSignal.timeout(50) });
    await expect(impatient).rejects.toThrow(/timeout/);
  });

  it('is as frequent as its probability says', async () => {
    await sandbox.control.change({ fault500: 0.3 });
    let count = 0;
    for (let number = 0; number < 300; number += 1) count += (await get('/v1/ping')).status === 500 ? 1 : 0;
    expect(count).toBeGreaterThan(55);
    expect(count).toBeLessThan(125);
  });

  it('may be limited to lists or to POST operations', async () => {
    await sandbox.control.change({ fault500: 1, faultRoutes: 'lists' });
    expect([(await get('/v1/ping')).status, (await get()).status]).toEqual([200, 500]);
    await sandbox.control.change({ faultRoutes: 'posts' });
    expect([
      (await get()).status,
      (await get('/v1/research', { method: 'POST', body: '{}' })).status,
    ]).toEqual([200, 500]);
  });

  it('faultResetEarly cuts a POST before its body is read: nothing takes effect', async () => {
    const before = await jobs();
    await sandbox.control.change({ faultResetEarly: 1, faultEffect: 'done' });
    await expect(get('/v1/research', { method: 'POST', body: '{}' })).rejects.toThrow('fetch failed');
    expect(await jobs()).toBe(before);
  });

  it('that makes a POST slow lets it take effect, even when the client has disconnected', async () => {
    const before = await jobs();
    await sandbox.control.change({ faultSlow: 1, slowMs: 600_000 });
    const leave = new AbortController();
    const post = { method: 'POST', body: '{}', signal: leave.signal };
    const answer = get('/v1/research', post).catch((error: unknown) => error);
    await eventually('its effect', async () => (await jobs()) === before + 1);
    leave.abort();
    expect(await answer).toMatchObject({ name: 'AbortError' });
    expect(await jobs()).toBe(before + 1);
  });

  it.each(['fault500', 'fault408', 'fault425', 'faultReset'] as const)(
    '%s hides whether a POST took effect',
    async (fault) => {
      const post = (): Promise<unknown> =>
        get('/v1/research', { method: 'POST', body: '{}' }).catch(() => 'no answer');
      const before = await jobs();
      await sandbox.control.change({ [fault]: 1, faultEffect: 'done' });
      await post();
      expect(await jobs()).toBe(before + 1);
      await sandbox.control.change({ faultEffect: 'undone' });
      await post();
      expect(await jobs()).toBe(before + 1);
    },
  );
});
