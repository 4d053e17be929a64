import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { Notes } from '@research-mirror/runtime/notes';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { MemoryAccounts, MemorySink, storedSecrets } from '../../test/support/webhooks/receiving-accounts.ts';
import { envelope, SECRET, signedHeaders } from '../../test/support/webhooks/signing.ts';
import type { Scheme } from '../config/parse-values.ts';
import { CANONICAL } from './judge.ts';
import { createReceiver } from './receiver.ts';

let clock: VirtualClock;
let accounts: MemoryAccounts;
let sink: MemorySink;
let lines: string[];
let hinted: unknown[];
/** Bytes of bodies that were made text, which is where reading them as JSON begins. */
let printed: number;

beforeEach(() => {
  clock = new VirtualClock();
  accounts = new MemoryAccounts();
  sink = new MemorySink();
  [lines, hinted, printed] = [[], [], 0];
});

const receiver = (options: Partial<Parameters<typeof createReceiver>[0]> = {}) =>
  createReceiver({
    header: 'X-Service-Signature',
    scheme: 'auto',
    accounts,
    store: sink,
    clock,
    notes: new Notes(clock, { info: (line) => lines.push(line), warn: (line) => lines.push(line) }),
    onEvent: (...given) => hinted.push(given),
    ...options,
  });

interface Sent {
  readonly userId?: string;
  readonly body?: string;
  readonly scheme?: Scheme;
  readonly secret?: string;
  readonly headers?: Record<string, string>;
  /** Signed so long ago. */
  readonly ago?: number;
}

function answer(sent: Sent = {}, to = receiver()) {
  const { userId = '42', body: text = envelope('evt_1'), scheme = 'hex', secret = SECRET, ago = 0 } = sent;
  const headers = sent.headers ?? signedHeaders(scheme, secret, text, clock.now() - ago);
  const body = Buffer.from(text);
  body.toString = (encoding) => {
    printed += body.length;
    return Buffer.prototype.toString.call(body, encoding);
  };
  return to.receive({ userId, headers, body });
}
const deliver = async (...given: Parameters<typeof answer>) => (await answer(...given)).status;

describe('a delivery', () => {
  it('is stored, then answered; its rows are hinted once, and the success is noted', async () => {
    expect(await deliver()).toBe(200);
    expect(sink.events.get('42/evt_1')).toMatchObject({ type: 'research.completed' });
    expect(accounts.calls).toEqual(['42: current']);
    const hint = ['42', [{ collection: 'research_jobs', parent: '', key: '7' }]];
    expect(hinted).toEqual([hint]);
    // It is known now.
    expect(await deliver()).toBe(200);
    expect(hinted).toEqual([hint]);
  });

  it('is not answered before it is stored', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    sink.until = promise;
    const answered: number[] = [];
    const answering = deliver().then((status) => answered.push(status));
    await clock.advance(60_000);
    expect(answered).toEqual([]);
    resolve();
    await answering;
    expect(answered).toEqual([200]);
  });

  it('whose signature is wrong is answered 400 and not stored, and many are logged once a minute', async () => {
    const to = receiver();
    for (const id of ['evt_1', 'evt_2', 'evt_3'])
      expect(await deliver({ secret: 'wrong', body: envelope(id) }, to)).toBe(400);
    expect([sink.events.size, lines.length]).toEqual([0, 1]);
    expect(accounts.calls).toEqual(Array.from({ length: 3 }, () => '42: mismatch'));
  });

  it('for an unknown account is answered 404, and 503 before any account is known', async () => {
    expect(await deliver({ userId: '43' })).toBe(404);
    accounts.pinged = false;
    expect(await deliver({ userId: '43' })).toBe(503);
    expect(sink.events.size).toBe(0);
  });

  it('for another account than the one that signed it is refused', async () => {
    accounts.known.set('43', storedSecrets({ current: { secret: 'other', since: new Date(0) } }));
    expect(await deliver({ userId: '43' })).toBe(400);
  });

  it('signed with a secret that another process has just stored is accepted', async () => {
    const now = new Date(clock.now());
    accounts.fresh.set('42', storedSecrets({ current: { secret: 'new', since: now }, now }));
    expect(await deliver({ secret: 'new' })).toBe(200);
    expect(await deliver({ secret: 'newer' })).toBe(503);
    expect(accounts.calls).toEqual(['42: current']);
  });

  it('that was signed hours ago is stored, and refused after a day', async () => {
    const sent = { scheme: 'timestamped', ago: 20 * 3_600_000 } as const;
    expect([await deliver(sent), await deliver(sent)]).toEqual([200, 200]);
    expect(await deliver({ ...sent, ago: 25 * 3_600_000 })).toBe(400);
    expect(sink.events.size).toBe(1);
    expect(lines.filter((line) => line.includes('clock'))).toHaveLength(1);
  });

  it('with a valid signature that is no JSON object is refused, and no mismatch is counted', async () => {
    const body = 'the body is not a JSON object\n';
    expect(await answer({ body: 'hello' })).toMatchObject({ status: 400, body, refused: 'bad_request' });
    expect([sink.events.size, accounts.calls]).toEqual([0, []]);
    expect(lines).toEqual([expect.stringContaining('not a JSON object, though its signature is right')]);
  });

  it('with an overheard signature of a time and a body proves nothing of both as one body', async () => {
    const body = envelope('evt_overheard');
    const overheard = signedHeaders('timestamped', SECRET, body, clock.now())['x-service-signature'] ?? '';
    const [, moment = '', mac = ''] = /^t=(\d+),v1=(.*)$/.exec(overheard) ?? [];
    const sent = { headers: { 'x-service-signature': mac }, body: `${moment}.${body}` };
    expect(await answer(sent)).toMatchObject({ status: 400, refused: 'bad_request' });
    expect([moment === '', sink.events.size]).toEqual([false, 0]);
  });

  const away = () => Promise.reject(new DatabaseUnavailable('the database is away'));

  it('that can not be stored now is answered 503', async () => {
    sink.until = away();
    expect(await deliver()).toBe(503);
    expect(accounts.calls).toEqual([]);
    expect(lines).toEqual(["deliveries can't be checked or stored now: the database is away"]);
  });

  it.each([
    ['503 where the accounts can not be asked', 'secretsOf', 503],
    ['200 though its success could not be noted', 'verified', 200],
  ] as const)('is answered %s', async (_, fails, status) => {
    accounts[fails] = away;
    expect(await deliver()).toBe(status);
  });

  it('without a signature is refused, and counts as no mismatch, also while no secret is known', async () => {
    expect(await deliver({ headers: {} })).toBe(400);
    accounts.known.set('42', storedSecrets({ current: undefined, state: 'registering' }));
    expect(await deliver({ headers: {} })).toBe(400);
    expect(accounts.calls).toEqual([]);
  });
});

it('a refusal names the header that may have the signature instead', async () => {
  const headers = signedHeaders('hex', SECRET, envelope('evt_1'), 0);
  expect(await deliver({ headers }, receiver({ header: 'X-Other' }))).toBe(400);
  expect(lines[0]).toContain('It has a header x-service-signature: set MIRROR_WEBHOOK_HEADER');
});

it.each([
  [
    'x-service-signature',
    `sha1=${'a'.repeat(40)}`,
    'in X-Service-Signature of an unknown form, which begins with "sha1="',
  ],
  ['x-service-signature', `sha512=${'a'.repeat(128)}`, 'begins with "sha512="'],
  ['x-service-signature', `hmac-sha256=${'a'.repeat(64)}`, 'begins with "hmac-sha256="'],
  ['x-service-signature', `v1=${'a'.repeat(64)}`, 'begins with "v1="'],
  ['x-service-signature', 'a'.repeat(40), 'of an unknown form, and was refused'],
  ['webhook-signature', 'v1a,abc', 'in webhook-signature of an unknown form'],
])('says that a signature in %s has an unknown form: %s', async (name, value, line) => {
  expect(await deliver({ headers: { [name]: value } })).toBe(400);
  expect(lines[0]).toContain(line);
  expect(lines[0]).not.toMatch(/aaaa|MIRROR_WEBHOOK_HEADER|no signature/);
});

it('a receiver logs nothing of a delivery’s content, signature or secret', async () => {
  const to = receiver();
  await deliver({}, to);
  await deliver({ secret: 'wrong' }, to);
  await deliver({ headers: {} }, to);
  await deliver({ scheme: 'timestamped', ago: 90_000_000 }, to);
  expect(lines.join('\n')).not.toMatch(/evt_1|research|example|[0-9a-f]{16}/);
});

// What forged deliveries can make the receiver compute, at most: counted, since time on a busy machine proves nothing.
describe('a flood', () => {
  // By Node's own switch, not by a mock of the module: in a worker that is not isolated, modules that other test files
  // loaded have the real one already.
  let macs = 0;
  const { createHmac } = crypto;
  beforeAll(() => {
    crypto.createHmac = (...given) => {
      macs += 1;
      return createHmac(...given);
    };
    syncBuiltinESMExports();
  });
  afterAll(() => {
    crypto.createHmac = createHmac;
    syncBuiltinESMExports();
  });

  const MiB = 1024 * 1024;
  const padded = (id: string, bytes: number) => envelope(id, { data: { job_id: 7, a: 'x'.repeat(bytes) } });
  const headers = { 'x-service-signature': 'ab'.repeat(32) };
  const FORGED: Sent = { body: padded('evt_forged', MiB - padded('evt_forged', 0).length), headers };
  /** Rightly signed by its canonical form, and not its own. */
  const genuine = (id: string, bytes = 0): Sent => ({ scheme: 'canonical-json', body: padded(id, bytes) });

  it.each([
    ['auto', 4, 10],
    ['auto', 50, 2],
    ['canonical-json', 4, 10],
    ['canonical-json', 50, 2],
  ] as const)(
    'with %s configured, of %i forged mebibytes a second has few printed, and lets genuine deliveries through',
    async (scheme, perSecond, seconds) => {
      const to = receiver({ scheme });
      const large: number[] = [];
      for (let second = 0; second < seconds; second += 1) {
        for (let each = 0; each < perSecond; each += 1) {
          expect([400, 503]).toContain(await deliver(FORGED, to));
          await clock.advance(1_000 / perSecond);
        }
        expect(await deliver(genuine(`evt_${second}`), to)).toBe(200);
        if (!large.includes(200)) large.push(await deliver(genuine('evt_large', 20_000), to));
      }
      expect(printed).toBeLessThanOrEqual(CANONICAL.burst + seconds * (CANONICAL.perSecond + 2 * CANONICAL.freeBytes));
      expect(large.at(-1)).toBe(200);
      expect(large.length).toBeLessThanOrEqual(2);
      await clock.advance((1_000 * CANONICAL.burst) / CANONICAL.perSecond);
      expect(await deliver(genuine('evt_largest', MiB - 200), to)).toBe(200);
      expect(sink.events.size).toBe(seconds + 2);
    },
  );

  it('never has a delivery refused for good that can’t be judged now', async () => {
    const to = receiver();
    await deliver(FORGED, to);
    const sent = genuine('evt_1', 600_000);
    for (let attempt = 0; attempt < 3; attempt += 1) expect(await deliver(sent, to)).toBe(503);
    await clock.advance(10_000);
    expect(await deliver(sent, to)).toBe(200);
  });

  it('has no forged body parsed if the configured scheme signs its bytes', async () => {
    const to = receiver({ scheme: 'hex' });
    const parsed = vi.spyOn(JSON, 'parse');
    for (let each = 0; each < 20; each += 1) expect(await deliver(FORGED, to)).toBe(400);
    expect([printed, parsed.mock.calls.length]).toEqual([0, 0]);
    parsed.mockRestore();
  });

  it('has a forged body printed once, and each of its MACs computed once, over all secrets and readings', async () => {
    const previous = { secret: SECRET.replace('5f', '5e'), until: new Date(1e12) };
    accounts.known.set('42', storedSecrets({ previous }));
    const moment = { 'webhook-id': 'msg_1', 'webhook-timestamp': '1767323045' };
    const standard = { ...moment, 'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}` };
    const body = envelope('evt_1');
    macs = 0;
    expect(await deliver({ body, headers: { ...headers, ...standard } })).toBe(400);
    expect(printed).toBe(Buffer.byteLength(body));
    // Of two secrets, as text and as bytes: the body, its canonical form, and with a moment, there in base64, too.
    expect(macs).toBe(2 * (2 + 2 + 3));
  });
});
