import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { webhookSandbox } from '../../testing/webhook-sandbox.ts';

const hooked = webhookSandbox();
const { sandbox, call, register } = hooked;
const collection = 'research_jobs';

interface Told {
  readonly id: string;
  readonly type: string;
  readonly data?: unknown;
}

const got = async (count: number): Promise<Told[]> =>
  (await hooked.receiver.got(count)).map(({ body }) => JSON.parse(body) as Told);
const like = (pattern: RegExp): string => expect.stringMatching(pattern) as string;

it('a webhook gets an event, signed over the raw body, of a job that the control API finishes', async () => {
  const { secret } = await register();
  const [id = ''] = await sandbox.control.mutate({ op: 'insert', collection, fields: { status: 'queued' } });
  const fields = { status: 'completed', document_id: 7, url: 'https://é.example/' };
  await sandbox.control.mutate({ op: 'update', collection, id, fields });
  expect(await got(1)).toEqual([
    {
      id: like(/^evt_[0-9a-f]{24}$/),
      type: 'research.completed',
      created_at: like(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      data: { job_id: Number(id), document_id: 7, company_url: 'https://é.example/' },
    },
  ]);
  const [delivery] = hooked.receiver.received;
  const signature = createHmac('sha256', String(secret))
    .update(delivery?.body ?? '')
    .digest('hex');
  expect(delivery?.headers['x-service-signature']).toBe(signature);
});

it('a webhook gets events of bulk jobs, lists and watched companies, with their own IDs', async () => {
  await register();
  const ids: number[] = [];
  for (const of of ['bulk_research_jobs', 'lists', 'watchlist'] as const) {
    const fields = { status: 'processing', score: 1 };
    const [id = ''] = await sandbox.control.mutate({ op: 'insert', collection: of, fields });
    ids.push(Number(id));
    const change = { status: 'failed', score: 99 };
    await sandbox.control.mutate({ op: 'update', collection: of, id, fields: change });
  }
  const [bulk, list, watched] = ids;
  expect(await got(3)).toMatchObject([
    { type: 'bulk.failed', data: { bulk_job_id: bulk } },
    { type: 'list.failed', data: { list_id: list } },
    { type: 'watchlist.change_detected', data: { id: watched, score: 99 } },
  ]);
});

it('a webhook gets only the event types that it asked for, and none once it is removed', async () => {
  await register(['list.analyzed']);
  expect(await sandbox.control.emit({ type: 'research.completed' })).toEqual([null]);
  const [id] = await sandbox.control.emit({ type: 'list.analyzed' });
  expect(await got(1)).toMatchObject([{ id, type: 'list.analyzed' }]);
  await call('/v1/webhooks', 'DELETE');
  expect(await sandbox.control.emit({ type: 'list.analyzed' })).toEqual([null]);
  expect(hooked.receiver.received).toHaveLength(1);
});

it.each([
  ['id-only', (id: number) => ({ id })],
  ['missing', () => undefined],
  ['other', () => expect.objectContaining({ changes: [] }) as object],
] as const)(
  'a webhook is told of data as the switch says, %s, research events aside',
  async (eventData, data) => {
    await register();
    await sandbox.control.change({ eventData });
    const [list] = (await call('/v1/lists'))['data'] as { list_id: number }[];
    await sandbox.control.emit({ type: 'list.analyzed' }, { type: 'research.failed', ids: ['17'] });
    const [first, second] = await got(2);
    expect(first?.data).toEqual(data(list?.list_id ?? 0));
    expect(second?.data).toMatchObject({ job_id: 17, company_url: like(/^https:/) });
  },
);

it('events by the control API are about the named items, the newest ones, or any given data, with every digit', async () => {
  await register();
  const { control } = sandbox;
  const newest = (await control.truth({ collection })).slice(0, 2).map((text) => /\d+/.exec(text)?.[0]);
  const ids = await control.emit(
    { type: 'research.completed', count: 2 },
    { type: 'research.completed', ids: ['9007199254740993', 'x'] },
    { type: 'moon.full', data: { phase: 1 }, count: 2 },
  );
  expect(new Set(ids).size).toBe(6);
  const told = (await hooked.receiver.got(6)).map(
    ({ body }) => /"job_id":("?\w+"?)/.exec(body)?.[1] ?? /"data":(.*)\}$/.exec(body)?.[1],
  );
  expect(new Set(told)).toEqual(new Set([...newest, '9007199254740993', '"x"', '{"phase":1}']));
});
