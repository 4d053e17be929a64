import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { webhookSandbox } from '../../testing/webhook-sandbox.ts';

const hooked = webhookSandbox();
const { sandbox, call, register } = hooked;

describe('a registered webhook', () => {
  it('gets an event, signed over the raw body, of a job that the control API finishes', async () => {
    const { secret } = await register();
    const [id = ''] = await sandbox.control.mutate({
      op: 'insert',
      collection: 'research_jobs',
      fields: { status: 'queued' },
    });
    await sandbox.control.mutate({
      op: 'update',
      collection: 'research_jobs',
      id,
      fields: { status: 'completed', document_id: 7, url: 'https://é.example/' },
    });
    const [got] = await hooked.receiver.got(1);
    expect(JSON.parse(got?.body ?? '')).toEqual({
      id: expect.stringMatching(/^evt_[0-9a-f]{24}$/) as string,
      type: 'research.completed',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
      data: { job_id: Number(id), document_id: 7, company_url: 'https://é.example/' },
    });
    expect(got?.headers['x-service-signature']).toBe(
      createHmac('sha256', String(secret))
        .update(got?.body ?? '')
        .digest('hex'),
    );
  });

  it('gets events of bulk jobs, lists and watched companies, with their own IDs', async () => {
    await register();
    const ids: Record<string, string> = {};
    for (const collection of ['bulk_research_jobs', 'lists', 'watchlist'] as const) {
      const fields = { status: 'processing', score: 1 };
      const [id = ''] = await sandbox.control.mutate({ op: 'insert', collection, fields });
      ids[collection] = id;
      const change = { status: 'failed', score: 99 };
      await sandbox.control.mutate({ op: 'update', collection, id, fields: change });
    }
    const got = (await hooked.receiver.got(3)).map(({ body }) => JSON.parse(body) as Record<string, unknown>);
    expect(got.map(({ type, data }) => [type, data])).toEqual([
      ['bulk.failed', expect.objectContaining({ bulk_job_id: Number(ids['bulk_research_jobs']) })],
      ['list.failed', expect.objectContaining({ list_id: Number(ids['lists']) })],
      ['watchlist.change_detected', expect.objectContaining({ id: Number(ids['watchlist']), score: 99 })],
    ]);
  });

  it('gets only the event types that it asked for, and none once it is removed', async () => {
    await register(['list.analyzed']);
    expect(await sandbox.control.emit({ type: 'research.completed' })).toEqual([null]);
    const [id] = await sandbox.control.emit({ type: 'list.analyzed' });
    expect(JSON.parse((await hooked.receiver.got(1))[0]?.body ?? '')).toMatchObject({
      id,
      type: 'list.analyzed',
    });
    await call('/v1/webhooks', 'DELETE');
    expect(await sandbox.control.emit({ type: 'list.analyzed' })).toEqual([null]);
    expect(hooked.receiver.received).toHaveLength(1);
  });

  it.each([
    ['id-only', (id: number) => ({ id })],
    ['missing', () => undefined],
    ['other', () => expect.objectContaining({ changes: [] }) as object],
  ] as const)('is told of data as the switch says, %s, research events aside', async (eventData, data) => {
    await register();
    await sandbox.control.change({ eventData });
    const [list] = (await call('/v1/lists'))['data'] as { list_id: number }[];
    await sandbox.control.emit({ type: 'list.analyzed' }, { type: 'research.failed', ids: ['17'] });
    const [first, second] = (await hooked.receiver.got(2)).map(
      ({ body }) => JSON.parse(body) as { data: unknown },
    );
    expect(first?.data).toEqual(data(list?.list_id ?? 0));
    expect(second?.data).toMatchObject({
      job_id: 17,
      company_url: expect.stringMatching(/^https:/) as string,
    });
  });
});

describe('events by the control API', () => {
  it('are about the named items, the newest ones, or any given data, with every digit', async () => {
    await register();
    const { control } = sandbox;
    const collection = 'research_jobs' as const;
    const newest = (await control.truth({ collection })).slice(0, 2).map((text) => /\d+/.exec(text)?.[0]);
    const ids = await control.emit(
      { type: 'research.completed', count: 2 },
      { type: 'research.completed', ids: ['9007199254740993', 'x'] },
      { type: 'moon.full', data: { phase: 1 }, count: 2 },
    );
    expect(new Set(ids).size).toBe(6);
    const bodies = (await hooked.receiver.got(6)).map(({ body }) => body);
    const told = bodies.map(
      (body) => /"job_id":("?\w+"?)/.exec(body)?.[1] ?? /"data":(.*)\}$/.exec(body)?.[1],
    );
    expect(new Set(told)).toEqual(new Set([...newest, '9007199254740993', '"x"', '{"phase":1}']));
  });
});
