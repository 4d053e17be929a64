import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { webhookSandbox } from '../../testing/webhook-sandbox.ts';

const hooked = webhookSandbox();
const { sandbox, call, register } = hooked;
const event = { type: 'list.failed' } as const;

/** Emits an event. @returns its delivery, the nth, and whether it is signed with this secret */
async function delivered(nth: number, secret: unknown): Promise<[path: string | undefined, signed: boolean]> {
  await sandbox.control.emit(event);
  const one = (await hooked.receiver.got(nth))[nth - 1];
  const hmac = createHmac('sha256', String(secret)).update(one?.body ?? '');
  return [one?.path, one?.headers['x-service-signature'] === hmac.digest('hex')];
}

describe('a registration', () => {
  it('takes effect for GET and deliveries late, where the switch says so', async () => {
    const first = await register();
    await sandbox.control.change({ registerLate: 600_000 });
    await register(['list.failed']);
    expect(await call('/v1/webhooks')).toMatchObject({ event_types: null });
    expect(await delivered(1, first['secret'])).toEqual(['/hooks', true]);
    // Late registrations take effect in order: none is left.
    await call('/v1/webhooks', 'DELETE');
    await sandbox.control.change({ registerLate: 1 });
    const second = await register(['list.failed']);
    await eventually('the registration', async () =>
      Array.isArray((await call('/v1/webhooks'))['event_types']),
    );
    expect(await delivered(2, second['secret'])).toEqual(['/hooks', true]);
  });

  it('takes effect where its answer is lost', async () => {
    await sandbox.control.change({ registerLost: 1 });
    await expect(register()).rejects.toThrow('fetch failed');
    expect(await call('/v1/webhooks')).toMatchObject({ url: `${hooked.receiver.url}/hooks` });
    expect((await sandbox.control.counters()).byFault['registerLost']).toBe(1);
  });

  it('answers with a new secret, the same, or none', async () => {
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
    expect(await delivered(1, secret)).toEqual(['/hooks', false]);
    const url = `${hooked.receiver.url}/theirs`;
    await sandbox.control.registerElsewhere({ url, event_types: ['list.failed'] });
    expect(await call('/v1/webhooks')).toMatchObject({ url, event_types: ['list.failed'] });
    expect(await delivered(2, secret)).toEqual(['/theirs', false]);
  });

  it('that is removed drops its waiting deliveries', async () => {
    await register();
    await sandbox.control.resetCounters();
    hooked.receiver.answer(503);
    await sandbox.control.change({ deliveryRetryMs: 20 });
    await sandbox.control.emit(event);
    await hooked.receiver.got(1);
    await call('/v1/webhooks', 'DELETE');
    await eventually('the end of the delivery', async () => {
      const { deliveries } = await sandbox.control.counters();
      return deliveries.unregistered === 1 && deliveries.waiting === 0;
    });
    expect(hooked.receiver.received).toHaveLength(1);
  });
});
