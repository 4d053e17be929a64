import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { httpSandbox } from '../../testing/http-sandbox.ts';
import { SWITCH_NAMES, type SandboxOptions } from '../switches/sandbox-switches.ts';

const { sandbox, ask, post } = httpSandbox();
const get = (path = '/v1/research') => ask(path);
const change = (options: Partial<SandboxOptions>) => sandbox.control.change(options);
const jobs = (): Promise<number> => sandbox.control.count({ collection: 'research_jobs' });

/** Switches all faults off. */
afterEach(async () => {
  const off = SWITCH_NAMES.filter((name) => /^fault(?!Routes|Effect)/.test(name)).map((name) => [name, 0]);
  const usual = { faultRoutes: 'all', faultEffect: 'undone', error200: 'error', emptySays: 'end' } as const;
  await change({ ...(Object.fromEntries(off) as Partial<SandboxOptions>), ...usual });
});

async function watched(after = ''): Promise<string[]> {
  const { body } = await get(`/v1/watchlist?limit=3${after && `&starting_after=${after}`}`);
  return (body['data'] as { id: number }[]).map(({ id }) => String(id));
}

describe('a fault', () => {
  const EMPTY = String.raw`\{"object":"list","data":\[\],"has_more":`;
  it.each<[Partial<SandboxOptions>, number, string?]>([
    [{ fault500: 1 }, 500],
    [{ fault503: 1 }, 503],
    [{ fault402: 1 }, 402],
    [{ fault408: 1 }, 408],
    [{ fault425: 1 }, 425],
    [{ fault409: 1 }, 409],
    [{ faultRedirect: 1 }, 302],
    [{ faultKey: 1 }, 401],
    // With what is no page of items.
    [{ faultHtml: 1 }, 200, '<!DOCTYPE html>'],
    [{ faultGarbage: 1 }, 200, '.*"compl$'],
    [{ faultEmpty: 1 }, 200, `${EMPTY}false}$`],
    [{ faultEmpty: 1, emptySays: 'more' }, 200, `${EMPTY}true}$`],
    [{ faultError200: 1, error200: 'error' }, 200, '{"error":{"code"'],
    [{ faultError200: 1, error200: 'errors' }, 200, String.raw`{"errors":\[`],
    [{ faultError200: 1, error200: 'success' }, 200, '{"success":false'],
    [{ faultError200: 1, error200: 'beside-data' }, 200, `${EMPTY}false,"error"`],
  ])('%o answers %i', async (faults, status, begins = '') => {
    await change(faults);
    expect(await get()).toMatchObject({ status, text: expect.stringMatching(`^${begins}`) as string });
    expect((await sandbox.control.counters()).byFault[Object.keys(faults)[0] ?? '']).toBeGreaterThan(0);
  });

  it.each(['faultReset', 'faultResetEarly', 'faultTruncated'] as const)('%s cuts the connection', async (fault) => {
    await change({ [fault]: 1 });
    await expect(get()).rejects.toThrow(/fetch failed|terminated/);
    const { byRouteAndStatus, inFlight } = await sandbox.control.counters();
    expect(byRouteAndStatus['GET /v1/research cut']).toBeGreaterThan(0);
    expect(inFlight).toBe(0);
  });

  it('lets a lagging replica answer', async () => {
    const { control } = sandbox;
    await change({ faultStale: 1, staleMs: 100_000 });
    await control.clock({ freeze: true });
    const [id = ''] = await control.mutate({ op: 'insert', collection: 'research_jobs' });
    await control.clock({ advanceMs: 99_000 });
    expect((await get()).text).not.toContain(`"job_id":${id},`);
    await control.clock({ advanceMs: 1000 });
    expect((await get()).text).toContain(`"job_id":${id},`);
    await control.clock({ resume: true });
  });

  it('repeats the page that was asked for before on the same list, or ignores the cursor', async () => {
    const first = await watched();
    const second = await watched(first.at(-1));
    await change({ faultRepeated: 1 });
    expect(await watched(second.at(-1))).toEqual(second);
    expect(await watched(second.at(-1))).not.toEqual(second);
    await change({ faultRepeated: 0, faultIgnored: 1 });
    expect(await watched(first.at(-1))).toEqual(first);
  });

  it('sends headers at once and the end of the body late', async () => {
    await change({ faultDrip: 1, slowMs: 1 });
    expect(await watched()).toHaveLength(3);
    await change({ slowMs: 600_000 });
    const leave = new AbortController();
    const headers = { authorization: `Bearer ${sandbox.key}` };
    const response = await fetch(`${sandbox.url}/v1/watchlist`, { headers, signal: leave.signal });
    const body = response.text().catch(() => 'broken off');
    expect(await Promise.race([body, sandbox.control.counters()])).toMatchObject({ inFlight: 1 });
    leave.abort();
    expect(await body).toBe('broken off');
  });

  it('is as frequent as its probability says', async () => {
    await change({ fault500: 0.3 });
    let count = 0;
    for (let number = 0; number < 300; number += 1) count += (await get('/v1/ping')).status === 500 ? 1 : 0;
    expect(Math.abs(count - 90)).toBeLessThan(35);
  });

  it('may be limited to lists or to POST operations', async () => {
    await change({ fault500: 1, faultRoutes: 'lists' });
    expect([(await get('/v1/ping')).status, (await get()).status]).toEqual([200, 500]);
    await change({ faultRoutes: 'posts' });
    expect([(await get()).status, (await post('/v1/research', {})).status]).toEqual([200, 500]);
  });

  it('that makes an answer slow gives an impatient client none; a POST takes effect all the same', async () => {
    const before = await jobs();
    await change({ faultSlow: 1, slowMs: 600_000 });
    const leave = new AbortController();
    const asking = { method: 'POST', body: '{}', signal: leave.signal };
    const answer = ask('/v1/research', asking).catch((error: unknown) => error);
    await eventually('its effect', async () => (await jobs()) === before + 1);
    leave.abort();
    expect(await answer).toMatchObject({ name: 'AbortError' });
    expect(await jobs()).toBe(before + 1);
  });

  it.each([
    ['fault500', 1],
    ['fault408', 1],
    ['fault425', 1],
    ['faultReset', 1],
    // It cuts before the body is read.
    ['faultResetEarly', 0],
  ] as const)('%s hides whether a POST took effect: %i', async (fault, effects) => {
    const before = await jobs();
    for (const faultEffect of ['done', 'undone'] as const) {
      await change({ [fault]: 1, faultEffect });
      await post('/v1/research', {}).catch(() => 'no answer');
      expect(await jobs()).toBe(before + effects);
    }
  });
});
