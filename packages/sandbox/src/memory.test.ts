import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { afterEach, describe, expect, it } from 'vitest';
import { startTestSandbox, STILL, type TestSandbox } from '../testing/sandbox.ts';
import { startSandbox } from './start-sandbox.ts';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';

const folder = folderForEach();
let running: TestSandbox | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

const file = (): string => join(folder.path, 'memory');
const EPOCH = '2026-11-26T00:00:00Z';

/** Starts it, after a stop, always in the same moment; its world began an hour before, and gets a job each ten seconds. */
async function start(): Promise<TestSandbox> {
  await running?.stop();
  running = await startTestSandbox(
    { ...STILL, epoch: EPOCH, memory: file(), newJobsPerMinute: 6, limits: 'off' },
    new VirtualClock(Date.parse(EPOCH) + 3_600_000),
  );
  return running;
}

/** All of its lists, and the account. */
async function world({ control }: TestSandbox): Promise<readonly string[]> {
  const lists = ['research_jobs', 'bulk_research_jobs', 'lists', 'watchlist'] as const;
  const truth = await Promise.all(lists.map((collection) => control.truth({ collection })));
  return [...truth.flat(), JSON.stringify(await ask('/v1/account'))];
}

async function ask(path: string, body?: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(`${running?.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${running?.key}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await response.json()) as Record<string, unknown>;
}

async function listed(): Promise<Record<string, unknown>> {
  const { data } = (await ask('/v1/lists')) as { data: Record<string, unknown>[] };
  return data[0] ?? {};
}

describe('a sandbox with a memory', () => {
  it('has its webhook, what was submitted and what was changed at the next start, and the same world', async () => {
    const first = await start();
    const url = 'https://hooks.example/in';
    await ask('/v1/webhooks/register', { url });
    const { secret } = await ask('/v1/webhooks/register', { url, event_types: ['list.failed'] });
    const { job_id: job } = await ask('/v1/research', { company_url: 'https://www.acme.example/x' });
    const source = '{"id":"w","score":12345678901234567890.5}';
    await first.control.mutate(
      { op: 'insert', collection: 'watchlist', id: 'w', source },
      { op: 'delete', collection: 'lists', id: String((await listed())['list_id']) },
    );
    // Jobs that come after the submitted one keep their IDs.
    await first.control.clock({ advanceMs: 60_000 });
    const before = await world(first);
    expect(before.find((text) => text.includes('"domain":"acme.example"'))).toContain(
      `"job_id":${String(job)},`,
    );
    expect(before).toContain(source);

    const second = await start();
    expect(await world(second)).toEqual(before);
    expect(await second.control.webhook()).toMatchObject({ url, secret, eventTypes: ['list.failed'] });
    expect((await ask('/v1/webhooks/register', { url }))['secret']).not.toBe(secret);
  });

  it('goes on where a kill cut off its last line', async () => {
    await start();
    await ask('/v1/webhooks/register', { url: 'https://one.example/' });
    appendFileSync(file(), '{"kind":"webhook","user":1001,"call":"regi');
    await start();
    await ask('/v1/webhooks/register', { url: 'https://two.example/' });
    const third = await start();
    expect(await third.control.webhook()).toMatchObject({ url: 'https://two.example/' });
  });

  it('does not start with a file that is none, and says which', async () => {
    await expect(startSandbox({ port: 0, controlPort: 0, memory: folder.path })).rejects.toThrow(
      `can't repeat what is in ${folder.path}: remove it to begin anew`,
    );
  });
});
