import { createHmac } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { listen, type LoopbackServer } from '@research-mirror/runtime/testing/loopback-server';
import { httpSandbox } from '../../testing/http-sandbox.ts';
import { optionsWith, startTestSandbox, STILL } from '../../testing/sandbox.ts';
import { EVENT_SWITCHES } from '../switches/sandbox-switches.ts';

// Since 2020: all items are finished, so that the only events are those of what a test does.
const epoch = '2020-01-01T00:00:00Z';
const { sandbox, ask } = httpSandbox({ epoch, jobs: 50, lists: 3, itemsPerList: 2 });
const usual = Object.fromEntries(Object.entries(optionsWith()).filter(([name]) => name in EVENT_SWITCHES));
const collection = 'research_jobs';
const EVENT = { type: 'research.completed' } as const;

interface Told {
  readonly id: string;
  readonly type: string;
  readonly data?: unknown;
}

/** A status; 'cut' resets the connection, 'silence' gives no answer. */
type Answer = number | 'cut' | 'silence';
let answers: readonly Answer[];
/** Deliveries, in the order in which they were complete. */
let received: { path: string; headers: IncomingHttpHeaders; body: string }[];
const arrivals = new EventEmitter();
let receiver: LoopbackServer;

beforeAll(async () => {
  receiver = await listen((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      const how = answers[received.length] ?? answers.at(-1) ?? 200;
      received.push({ path, headers, body: Buffer.concat(chunks).toString() });
      if (how === 'cut') request.socket.resetAndDestroy();
      else if (how !== 'silence') response.writeHead(how).end();
      arrivals.emit('delivery');
    });
  });
  reset();
});
afterEach(async () => {
  await sandbox.control.change(usual);
  await sandbox.control.registerElsewhere({ url: null });
  reset();
});
afterAll(() => receiver.close());

function reset(): void {
  received = [];
  answers = [200];
}

/** Sends a request to the service. @returns the body of the answer, {} for none */
const call = async (path: string, method = 'GET', body?: unknown): Promise<Record<string, unknown>> =>
  (await ask(path, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })).body;
/** Registers the receiver. @returns the service's answer */
const register = (...types: string[]): Promise<Record<string, unknown>> =>
  call('/v1/webhooks/register', 'POST', {
    url: `${receiver.url}/hooks`,
    ...(types.length === 0 ? {} : { event_types: types }),
  });
/** The events of all deliveries, once there are as many. */
async function got(count: number): Promise<Told[]> {
  while (received.length < count) await once(arrivals, 'delivery');
  return received.map(({ body }) => JSON.parse(body) as Told);
}
const counts = async () => (await sandbox.control.counters()).deliveries;
/** The logged attempts, once there are as many after `after`. */
const attempts = (count: number, after = 0) =>
  eventually('the log of deliveries', async () => {
    const log = await sandbox.control.deliveries(after);
    return log.length >= count && log;
  });
const isSigned = ({ body, headers }: (typeof received)[number], secret: unknown): boolean =>
  headers['x-service-signature'] === createHmac('sha256', String(secret)).update(body).digest('hex');
const like = (pattern: RegExp): string => expect.stringMatching(pattern) as string;

describe('an event', () => {
  it('of a job that the control API finishes is told, signed over the raw body', async () => {
    const { secret } = await register();
    const insert = { op: 'insert', collection, fields: { status: 'queued' } } as const;
    const [id = ''] = await sandbox.control.mutate(insert);
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
    expect(received.map((each) => isSigned(each, secret))).toEqual([true]);
  });

  it.each([
    ['bulk_research_jobs', 'bulk.failed', 'bulk_job_id', {}],
    ['lists', 'list.failed', 'list_id', {}],
    ['watchlist', 'watchlist.change_detected', 'id', { score: 99 }],
  ] as const)('of %s is told with their own IDs: %s', async (of, type, key, data) => {
    await register();
    const insert = { op: 'insert', collection: of, fields: { status: 'processing', score: 1 } } as const;
    const [id = ''] = await sandbox.control.mutate(insert);
    const fields = { status: 'failed', score: 99 };
    await sandbox.control.mutate({ op: 'update', collection: of, id, fields });
    expect(await got(1)).toMatchObject([{ type, data: { [key]: Number(id), ...data } }]);
  });

  it('is told only to who asked for its type, and to none once the webhook is removed', async () => {
    await register('list.analyzed');
    expect(await sandbox.control.emit(EVENT)).toEqual([null]);
    const [id] = await sandbox.control.emit({ type: 'list.analyzed' });
    expect(await got(1)).toMatchObject([{ id, type: 'list.analyzed' }]);
    await call('/v1/webhooks', 'DELETE');
    expect(await sandbox.control.emit({ type: 'list.analyzed' })).toEqual([null]);
    expect(received).toHaveLength(1);
  });

  it.each([
    ['id-only', (id: number) => ({ id })],
    ['missing', () => undefined],
    ['other', () => expect.objectContaining({ changes: [] }) as object],
  ] as const)('tells of data as the switch says, %s, research events aside', async (eventData, data) => {
    await register();
    await sandbox.control.change({ eventData });
    const [list] = (await call('/v1/lists'))['data'] as { list_id: number }[];
    await sandbox.control.emit({ type: 'list.analyzed' }, { type: 'research.failed', ids: ['17'] });
    const [first, second] = await got(2);
    expect(first?.data).toEqual(data(list?.list_id ?? 0));
    expect(second?.data).toMatchObject({ job_id: 17, company_url: like(/^https:/) });
  });

  it('by the control API is about the named items, the newest ones, or any given data, with every digit', async () => {
    await register();
    const { control } = sandbox;
    const newest = (await control.truth({ collection })).slice(0, 2).map((text) => /\d+/.exec(text)?.[0]);
    const ids = await control.emit(
      { ...EVENT, count: 2 },
      { ...EVENT, ids: ['9007199254740993', 'x'] },
      { type: 'moon.full', data: { phase: 1 }, count: 2 },
    );
    expect(new Set(ids).size).toBe(6);
    await got(6);
    const told = received.map(({ body }) => /"job_id":("?\w+"?)/.exec(body)?.[1] ?? /"data":(.*)\}$/.exec(body)?.[1]);
    expect(new Set(told)).toEqual(new Set([...newest, '9007199254740993', '"x"', '{"phase":1}']));
  });
});

describe('a delivery', () => {
  it('that is refused, cut or left without an answer is retried, and each attempt is logged', async () => {
    await register();
    await sandbox.control.change({ deliveryRetryMs: 1, deliveryTimeoutMs: 1_000 });
    answers = [503, 'cut', 'silence', 302, 200];
    const after = (await sandbox.control.deliveries()).at(-1)?.number;
    const [eventId] = await sandbox.control.emit(EVENT);
    await got(5);
    const log = await attempts(5, after);
    expect(log).toMatchObject(
      [503, null, null, 302, 200].map((status, nth) => ({ eventId, status, attempt: nth + 1 })),
    );
    expect(new Set(received.map(({ body }) => body)).size).toBe(1);
    expect(log[2]?.latencyMs).toBeGreaterThan(40);
    const { userId } = sandbox;
    expect(log[0]).toMatchObject({ type: EVENT.type, userId, url: `${receiver.url}/hooks` });
  });

  it('that is answered 4xx is not retried, unless the switch says otherwise', async () => {
    await register();
    await sandbox.control.change({ deliveryRetryMs: 1, deliveryRetries: 2 });
    answers = [400];
    await sandbox.control.resetCounters();
    await sandbox.control.emit(EVENT);
    expect(await attempts(1)).toHaveLength(1);
    await sandbox.control.change({ retryOn4xx: 'yes' });
    await sandbox.control.emit(EVENT);
    expect((await attempts(4)).map(({ attempt }) => attempt)).toEqual([1, 1, 2, 3]);
    expect(await counts()).toMatchObject({ events: 2, attempts: 4, failed: 2, delivered: 0, waiting: 0 });
  });

  it('comes twice, never, or with a forged one, as the switches say', async () => {
    const { secret } = await register();
    const { control } = sandbox;
    await control.resetCounters();
    await control.change({ deliveryDuplicate: 1, deliveryForged: 1 });
    const [id] = await control.emit(EVENT);
    const told = await got(3);
    expect(told.filter((_, nth) => received.map((each) => isSigned(each, secret))[nth])).toMatchObject([
      { id },
      { id },
    ]);
    const log = await attempts(3);
    const forged = log.filter((each) => each.forged).map(({ eventId }) => eventId);
    expect(forged).toEqual([expect.not.stringContaining(id ?? '')]);
    expect(log.filter(({ duplicate }) => duplicate).map(({ eventId }) => eventId)).toEqual([id]);
    await control.change({ deliveryDuplicate: 0, deliveryForged: 0, deliveryLost: 1 });
    expect(await control.emit(EVENT)).toEqual([like(/^evt_/)]);
    // The receiver here verifies nothing.
    const counted = { events: 2, lost: 1, delivered: 2, forgedAccepted: 1, waiting: 0, underWay: 0 };
    expect(await counts()).toMatchObject(counted);
  });

  it('is held back, so that later ones overtake it', async () => {
    await register();
    await sandbox.control.change({ deliveryReorder: 0.5 });
    const ids = await sandbox.control.emit({ ...EVENT, count: 20 });
    const came = (await got(20)).map(({ id }) => id);
    expect(new Set(came)).toEqual(new Set(ids));
    expect(came).not.toEqual(ids);
  });

  it('is sent with few others at a time; when too many wait, the oldest are dropped', async () => {
    await register();
    answers = ['silence'];
    await eventually('the last test’s deliveries', async () => (await counts()).underWay === 0);
    await sandbox.control.resetCounters();
    await sandbox.control.change({ deliveryParallel: 2, deliveryWaiting: 3 });
    const ids = await sandbox.control.emit({ ...EVENT, count: 10 });
    await got(2);
    expect(await counts()).toMatchObject({ events: 10, underWay: 2, waiting: 3, dropped: 5 });
    await sandbox.control.change({ deliveryParallel: 8 });
    const [last] = await sandbox.control.emit(EVENT);
    const came = (await got(5)).map(({ id }) => id);
    expect(new Set(came)).toEqual(new Set([ids[0], ids[1], ids[8], ids[9], last]));
  });

  it('is not awaited by a sandbox that is stopped', async () => {
    const other = await startTestSandbox({ ...STILL, deliveryTimeoutMs: 600_000 });
    answers = ['silence'];
    await other.control.registerElsewhere({ url: receiver.url });
    await other.control.emit({ ...EVENT, count: 20 });
    await got(8);
    await other.stop();
    expect(received).toHaveLength(8);
  });
});

describe('a registration', () => {
  /** Emits an event. @returns the path of its delivery, and whether it is signed with this secret */
  async function delivered(secret: unknown): Promise<[path: string | undefined, signed: boolean]> {
    received = [];
    await sandbox.control.emit(EVENT);
    await got(1);
    const [one] = received;
    return [one?.path, one !== undefined && isSigned(one, secret)];
  }

  it('takes effect for GET and deliveries late, where the switch says so', async () => {
    const first = await register();
    await sandbox.control.change({ registerLate: 600_000 });
    await register(EVENT.type);
    expect(await call('/v1/webhooks')).toMatchObject({ event_types: null });
    expect(await delivered(first['secret'])).toEqual(['/hooks', true]);
    // Late registrations take effect in order: none is left.
    await call('/v1/webhooks', 'DELETE');
    await sandbox.control.change({ registerLate: 1 });
    const second = await register(EVENT.type);
    await eventually('it', async () => Array.isArray((await call('/v1/webhooks'))['event_types']));
    expect(await delivered(second['secret'])).toEqual(['/hooks', true]);
  });

  it('takes effect where its answer is lost', async () => {
    await sandbox.control.change({ registerLost: 1 });
    await expect(register()).rejects.toThrow('fetch failed');
    expect(await call('/v1/webhooks')).toMatchObject({ url: `${receiver.url}/hooks` });
    expect((await sandbox.control.counters()).byFault['registerLost']).toBe(1);
  });

  it('answers with the same secret, or none', async () => {
    const first = await register();
    await sandbox.control.change({ registerSecret: 'same' });
    expect((await register())['secret']).toBe(first['secret']);
    await sandbox.control.change({ registerSecret: 'missing' });
    expect(await register()).not.toHaveProperty('secret');
    expect((await sandbox.control.webhook())?.secret).not.toBe(first['secret']);
  });

  it('is replaced by another holder of the key, and gets another secret, without notice', async () => {
    const { secret } = await register();
    await sandbox.control.rotateSecret();
    expect(await delivered(secret)).toEqual(['/hooks', false]);
    const theirs = { url: `${receiver.url}/theirs`, event_types: [EVENT.type] };
    await sandbox.control.registerElsewhere(theirs);
    expect(await call('/v1/webhooks')).toMatchObject(theirs);
    expect(await delivered(secret)).toEqual(['/theirs', false]);
  });

  it('that is removed drops its waiting deliveries', async () => {
    await register();
    await sandbox.control.resetCounters();
    answers = [503];
    await sandbox.control.change({ deliveryRetryMs: 20 });
    await sandbox.control.emit(EVENT);
    await got(1);
    await call('/v1/webhooks', 'DELETE');
    const isOver = async (): Promise<boolean> => {
      const { unregistered, waiting } = await counts();
      return unregistered === 1 && waiting === 0;
    };
    await eventually('the end of the delivery', isOver);
    expect(received).toHaveLength(1);
  });
});
