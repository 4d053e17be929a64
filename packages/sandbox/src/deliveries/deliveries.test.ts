import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { webhookSandbox } from '../../testing/webhook-sandbox.ts';
import { startTestSandbox, STILL } from '../../testing/sandbox.ts';
import type { DeliveryRecord } from './delivery-queue.ts';

const hooked = webhookSandbox();
const { sandbox, register } = hooked;
const EVENT = { type: 'research.completed' } as const;

/** Deliveries, once there are as many: their event IDs. */
const got = async (count: number): Promise<string[]> =>
  (await hooked.receiver.got(count)).map(({ body }) => (JSON.parse(body) as { id: string }).id);

/** The last attempts, once there are as many after `after`. */
const told = (count: number, after = 0): Promise<DeliveryRecord[]> =>
  eventually('the log of deliveries', async () => {
    const log = await sandbox.control.deliveries(after);
    return log.length >= count && log;
  });

describe('a delivery', () => {
  it('that is refused, cut or left without an answer is retried, and each attempt is logged', async () => {
    await register();
    await sandbox.control.change({ deliveryRetryMs: 1, deliveryTimeoutMs: 1_000 });
    const answers = [503, 'cut', 'silence', 302, 200] as const;
    hooked.receiver.answer(() => answers[hooked.receiver.received.length - 1] ?? 200);
    const after = (await sandbox.control.deliveries()).at(-1)?.number;
    const [eventId] = await sandbox.control.emit(EVENT);
    await hooked.receiver.got(5);
    const log = await told(5, after);
    expect(log).toMatchObject(
      [503, null, null, 302, 200].map((status, nth) => ({ eventId, status, attempt: nth + 1 })),
    );
    expect(new Set(hooked.receiver.received.map(({ body }) => body)).size).toBe(1);
    expect(log[2]?.latencyMs).toBeGreaterThan(40);
    const { userId } = sandbox;
    expect(log[0]).toMatchObject({ type: EVENT.type, userId, url: `${hooked.receiver.url}/hooks` });
  });

  it('that is answered 4xx is not retried, unless the switch says otherwise', async () => {
    await register();
    await sandbox.control.change({ deliveryRetryMs: 1, deliveryRetries: 2 });
    hooked.receiver.answer(400);
    await sandbox.control.resetCounters();
    await sandbox.control.emit(EVENT);
    expect((await told(1)).map(({ attempt }) => attempt)).toEqual([1]);
    await sandbox.control.change({ retryOn4xx: 'yes' });
    await sandbox.control.emit(EVENT);
    expect((await told(4)).map(({ attempt }) => attempt)).toEqual([1, 1, 2, 3]);
    const { deliveries } = await sandbox.control.counters();
    expect(deliveries).toMatchObject({ events: 2, attempts: 4, failed: 2, delivered: 0, waiting: 0 });
  });

  it('comes twice, never, or with a forged one, as the switches say', async () => {
    const { secret } = await register();
    const { control } = sandbox;
    await control.resetCounters();
    await control.change({ deliveryDuplicate: 1, deliveryForged: 1 });
    const [id] = await control.emit(EVENT);
    await hooked.receiver.got(3);
    const genuine = hooked.receiver.received.filter(
      ({ body, headers }) =>
        headers['x-service-signature'] === createHmac('sha256', String(secret)).update(body).digest('hex'),
    );
    expect(genuine.map(({ body }) => (JSON.parse(body) as { id: string }).id)).toEqual([id, id]);
    const log = await told(3);
    const forged = log.filter((each) => each.forged).map(({ eventId }) => eventId);
    expect(forged).toEqual([expect.not.stringContaining(id ?? '')]);
    expect(log.filter(({ duplicate }) => duplicate).map(({ eventId }) => eventId)).toEqual([id]);
    await control.change({ deliveryDuplicate: 0, deliveryForged: 0, deliveryLost: 1 });
    expect(await control.emit(EVENT)).toEqual([expect.stringMatching(/^evt_/)]);
    // The receiver here verifies nothing.
    const counts = { events: 2, lost: 1, delivered: 2, forgedAccepted: 1, waiting: 0, underWay: 0 };
    expect((await control.counters()).deliveries).toMatchObject(counts);
  });

  it('is held back, so that later ones overtake it', async () => {
    await register();
    await sandbox.control.change({ deliveryReorder: 0.5 });
    const ids = await sandbox.control.emit({ ...EVENT, count: 20 });
    const came = await got(20);
    expect(new Set(came)).toEqual(new Set(ids));
    expect(came).not.toEqual(ids);
  });

  it('is sent with few others at a time; when too many wait, the oldest are dropped', async () => {
    await register();
    hooked.receiver.answer('silence');
    const counts = async () => (await sandbox.control.counters()).deliveries;
    await eventually('the last test’s deliveries', async () => (await counts()).underWay === 0);
    await sandbox.control.resetCounters();
    await sandbox.control.change({ deliveryParallel: 2, deliveryWaiting: 3 });
    const ids = await sandbox.control.emit({ ...EVENT, count: 10 });
    await hooked.receiver.got(2);
    expect(await counts()).toMatchObject({ events: 10, underWay: 2, waiting: 3, dropped: 5 });
    await sandbox.control.change({ deliveryParallel: 8 });
    const [last] = await sandbox.control.emit(EVENT);
    expect(new Set(await got(5))).toEqual(new Set([ids[0], ids[1], ids[8], ids[9], last]));
  });
});

it('a sandbox that is stopped does not wait for deliveries', async () => {
  const other = await startTestSandbox({ ...STILL, deliveryTimeoutMs: 600_000 });
  hooked.receiver.answer('silence');
  await other.control.registerElsewhere({ url: hooked.receiver.url });
  await other.control.emit({ ...EVENT, count: 20 });
  await hooked.receiver.got(8);
  await other.stop();
  expect(hooked.receiver.received).toHaveLength(8);
});
