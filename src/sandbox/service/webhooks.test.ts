import { createHmac } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { startHookedSandbox, type HookedSandbox } from '../../../test/support/hooked-sandbox.ts';

let hooked: HookedSandbox;
let sandbox: HookedSandbox['sandbox'];
let receiver: HookedSandbox['receiver'];

beforeAll(async () => {
  hooked = await startHookedSandbox();
  ({ sandbox, receiver } = hooked);
});

afterEach(() => hooked.restore());

afterAll(() => hooked.close());

describe('a registration', () => {
  const event = { type: 'list.failed' } as const;
  const hmac = (secret: unknown, body: string | undefined): string =>
    createHmac('sha256', String(secret))
      .update(body ?? '')
      .digest('hex');

  it('is followed by GET and deliveries only later, where the switch says so', async () => {
    const first = await hooked.register();
    await sandbox.control.change({ registerLate: 100 });
    const second = await hooked.register(['list.failed']);
    expect(await hooked.call('/v1/webhooks')).toMatchObject({ event_types: null });
    await sandbox.control.emit(event);
    expect((await receiver.got(1))[0]?.headers['x-service-signature']).toBe(
      hmac(first['secret'], receiver.received[0]?.body),
    );
    await eventually(
      'the registration',
      async () => (await hooked.call('/v1/webhooks'))['event_types'] !== null,
    );
    await sandbox.control.emit(event);
    expect((await receiver.got(2))[1]?.headers['x-service-signature']).toBe(
      hmac(second['secret'], receiver.received[1]?.body),
    );
  });

  it('takes effect where its answer is lost', async () => {
    await sandbox.control.change({ registerLost: 1 });
    await expect(hooked.register()).rejects.toThrow('fetch failed');
    expect(await hooked.call('/v1/webhooks')).toMatchObject({ url: `${receiver.url}/hooks` });
    expect((await sandbox.control.counters()).byFault['registerLost']).toBe(1);
  });

  it('answers with a new secret, the same, or none', async () => {
    const first = await hooked.register();
    await sandbox.control.change({ registerSecret: 'same' });
    expect((await hooked.register())['secret']).toBe(first['secret']);
    await sandbox.control.change({ registerSecret: 'missing' });
    expect(await hooked.register()).not.toHaveProperty('secret');
    expect((await sandbox.control.webhook())?.secret).not.toBe(first['secret']);
  });

  it('is replaced by somebody else, and gets another secret, without a word', async () => {
    const { secret } = await hooked.register();
    await sandbox.control.rotateSecret();
    await sandbox.control.emit(event);
    await receiver.got(1);
    expect(receiver.received[0]?.headers['x-service-signature']).not.toBe(
      hmac(secret, receiver.received[0]?.body),
    );
    const url = `${receiver.url}/theirs`;
    await sandbox.control.registerElsewhere({ url, event_types: ['list.failed'] });
    expect(await hooked.call('/v1/webhooks')).toMatchObject({ url, event_types: ['list.failed'] });
    await sandbox.control.emit(event);
    expect((await receiver.got(2))[1]?.path).toBe('/theirs');
  });

  it('that goes away takes with it what waits to be delivered', async () => {
    await hooked.register();
    await sandbox.control.resetCounters();
    receiver.answer(503);
    await sandbox.control.change({ deliveryRetryMs: 20 });
    await sandbox.control.emit(event);
    await receiver.got(1);
    await hooked.call('/v1/webhooks', 'DELETE');
    await eventually('the end of the delivery', async () => {
      const { deliveries } = await sandbox.control.counters();
      return deliveries.unregistered === 1 && deliveries.waiting === 0;
    });
    expect(receiver.received).toHaveLength(1);
  });
});
