import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { afterEach, describe, expect, it } from 'vitest';
import { startTestSandbox, STILL, type TestSandbox } from '../testing/sandbox.ts';
import { startSandbox } from './start-sandbox.ts';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';

const folder = folderForEach();
let running: TestSandbox | undefined;
const stop = async (): Promise<void> => {
  await running?.stop();
  running = undefined;
};
afterEach(stop);

const file = (): string => join(folder.path, 'memory');
const EPOCH = '2026-11-26T00:00:00Z';

/** Starts it, after a stop, always in the same moment; its world began an hour before, and gets a job each ten seconds. */
async function start(): Promise<TestSandbox['control']> {
  await stop();
  const options = { ...STILL, epoch: EPOCH, memory: file(), newJobsPerMinute: 6, limits: 'off' } as const;
  running = await startTestSandbox(options, new VirtualClock(Date.parse(EPOCH) + 3_600_000));
  return running.control;
}

async function ask(path: string, body?: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(`${running?.url}${path}`, {
    headers: { authorization: `Bearer ${running?.key}` },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  return (await response.json()) as Record<string, unknown>;
}

const register = (webhook: Record<string, unknown>) => ask('/v1/webhooks/register', webhook);

/** All of its lists, and the account. */
async function world(control: TestSandbox['control']): Promise<readonly string[]> {
  const lists = ['research_jobs', 'bulk_research_jobs', 'lists', 'watchlist'] as const;
  const truth = await Promise.all(lists.map((collection) => control.truth({ collection })));
  return [...truth.flat(), JSON.stringify(await ask('/v1/account'))];
}

describe('a sandbox with a memory', () => {
  it('has its webhook, what was submitted and what was changed at the next start, and the same world', async () => {
    const first = await start();
    const url = 'https://hooks.example/in';
    await register({ url });
    const { secret } = await register({ url, event_types: ['list.failed'] });
    const { job_id: job } = await ask('/v1/research', { company_url: 'https://www.acme.example/x' });
    const source = '{"id":"w","score":12345678901234567890.5}';
    const [list] = (await ask('/v1/lists'))['data'] as Record<string, unknown>[];
    await first.mutate(
      { op: 'insert', collection: 'watchlist', id: 'w', source },
      { op: 'delete', collection: 'lists', id: String(list?.['list_id']) },
    );
    // Jobs that come after the submitted one keep their IDs.
    await first.clock({ advanceMs: 60_000 });
    const before = await world(first);
    const submitted = before.find((text) => text.includes('"domain":"acme.example"'));
    expect(submitted).toContain(`"job_id":${String(job)},`);
    expect(before).toContain(source);

    const second = await start();
    expect(await world(second)).toEqual(before);
    expect(await second.webhook()).toMatchObject({ url, secret, eventTypes: ['list.failed'] });
    expect((await register({ url }))['secret']).not.toBe(secret);
  });

  it('goes on where a kill cut off its last line', async () => {
    await start();
    await register({ url: 'https://one.example/' });
    appendFileSync(file(), '{"kind":"webhook","user":1001,"call":"regi');
    await start();
    await register({ url: 'https://two.example/' });
    expect(await (await start()).webhook()).toMatchObject({ url: 'https://two.example/' });
  });

  it('does not start with a file that is none, and says which', async () => {
    const options = { port: 0, controlPort: 0, memory: folder.path };
    const why = `can't replay ${folder.path}. Remove that file to start over.`;
    await expect(startSandbox(options)).rejects.toThrow(why);
  });
});
