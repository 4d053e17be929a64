import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { MemoryAccounts, MemorySink, storedSecrets } from '../../test/support/webhooks/receiving-accounts.ts';
import { envelope, SECRET, signedHeaders } from '../../test/support/webhooks/signing.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import type { SchemeChoice } from '../config/parse-values.ts';
import { Notes } from '@research-mirror/runtime/notes';
import { CANONICAL } from './judge.ts';
import { createReceiver } from './receiver.ts';

// What forged deliveries can make the receiver compute, at most: counted, since time on a busy machine proves
// nothing.

// By Node's own switch, not by a mock of the module: in a worker that is not isolated, modules that other test files
// loaded have the real one already.
const macs = { computed: 0 };
const { createHmac } = crypto;
beforeAll(() => {
  crypto.createHmac = (...given) => {
    macs.computed += 1;
    return createHmac(...given);
  };
  syncBuiltinESMExports();
});
afterAll(() => {
  crypto.createHmac = createHmac;
  syncBuiltinESMExports();
});

const MiB = 1024 * 1024;
const MEBIBYTE = envelope('evt_forged', {
  data: 'x'.repeat(MiB - envelope('evt_forged', { data: '' }).length),
});
const FORGED = { 'x-service-signature': 'ab'.repeat(32) };

function receiverBy(scheme: SchemeChoice = 'auto') {
  const clock = new VirtualClock();
  const accounts = new MemoryAccounts();
  const sink = new MemorySink();
  const receiver = createReceiver({
    header: 'X-Service-Signature',
    scheme,
    accounts,
    store: sink,
    clock,
    notes: new Notes(clock, { info: () => {}, warn: () => {} }),
    onEvent: () => {},
  });
  const scene = {
    clock,
    accounts,
    sink,
    /** Bytes of bodies that were made text, which is where reading them as JSON begins. */
    printed: 0,
    async deliver(text: string, headers: Record<string, string> = FORGED): Promise<number> {
      const body = Buffer.from(text);
      body.toString = (encoding) => {
        scene.printed += body.length;
        return Buffer.prototype.toString.call(body, encoding);
      };
      return (await receiver.receive({ userId: '42', headers, body })).status;
    },
    /** Rightly signed by its canonical form, and not its own. */
    genuine(id: string, bytes = 0): Promise<number> {
      const text = envelope(id, { data: { job_id: 7, a: 'x'.repeat(bytes) } });
      return scene.deliver(text, signedHeaders('canonical-json', SECRET, text, 0));
    },
  };
  return scene;
}

describe.each(['auto', 'canonical-json'] as const)('with %s configured, forged mebibytes', (scheme) => {
  it.each([
    [4, 10],
    [50, 2],
  ])('at %i a second are rarely printed, and genuine deliveries get through', async (perSecond, seconds) => {
    const scene = receiverBy(scheme);
    const { clock, deliver, genuine } = scene;
    const large: number[] = [];
    for (let second = 0; second < seconds; second += 1) {
      for (let each = 0; each < perSecond; each += 1) {
        expect([400, 503]).toContain(await deliver(MEBIBYTE));
        await clock.advance(1_000 / perSecond);
      }
      expect(await genuine(`evt_${second}`)).toBe(200);
      if (!large.includes(200)) large.push(await genuine('evt_large', 20_000));
    }
    expect(scene.printed).toBeLessThanOrEqual(
      CANONICAL.burst + seconds * (CANONICAL.perSecond + 2 * CANONICAL.freeBytes),
    );
    expect(large.at(-1)).toBe(200);
    expect(large.length).toBeLessThanOrEqual(2);
    await clock.advance((1_000 * CANONICAL.burst) / CANONICAL.perSecond);
    expect(await genuine('evt_largest', MiB - 200)).toBe(200);
    expect(scene.sink.events.size).toBe(seconds + 2);
  });
});

it('a delivery that can’t be judged now is never refused for good', async () => {
  const { clock, deliver, genuine } = receiverBy();
  await deliver(MEBIBYTE);
  for (let attempt = 0; attempt < 3; attempt += 1) expect(await genuine('evt_1', 600_000)).toBe(503);
  await clock.advance(10_000);
  expect(await genuine('evt_1', 600_000)).toBe(200);
});

it('no forged body is parsed if the configured scheme signs its bytes', async () => {
  const scene = receiverBy('hex');
  const parsed = vi.spyOn(JSON, 'parse');
  for (let each = 0; each < 20; each += 1) expect(await scene.deliver(MEBIBYTE)).toBe(400);
  expect([scene.printed, parsed.mock.calls.length]).toEqual([0, 0]);
  parsed.mockRestore();
});

it('a forged body is printed once, and each of its MACs computed once, over all secrets and readings', async () => {
  const scene = receiverBy();
  const previous = { secret: SECRET.replace('5f', '5e'), until: new Date(1e12) };
  scene.accounts.known.set('42', storedSecrets({ previous }));
  const headers = {
    ...FORGED,
    'webhook-id': 'msg_1',
    'webhook-timestamp': '1767323045',
    'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}`,
  };
  macs.computed = 0;
  const body = envelope('evt_1');
  expect(await scene.deliver(body, headers)).toBe(400);
  expect(scene.printed).toBe(Buffer.byteLength(body));
  // Of two secrets, as text and as bytes: the body, its canonical form, and with a moment, there in base64, too.
  expect(macs.computed).toBe(2 * (2 + 2 + 3));
});
