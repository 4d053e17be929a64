import type { LookupAddress } from 'node:dns';
import { afterEach, expect, it } from 'vitest';
import { messageOf } from '@research-mirror/runtime/message';
import { listen, type LoopbackServer } from '@research-mirror/runtime/testing/loopback-server';
import { createNotifyReceiver } from './notifier.ts';

type NotifyReceiverOptions = Parameters<typeof createNotifyReceiver>[0];
const open: (ReturnType<typeof createNotifyReceiver> | LoopbackServer)[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

const { signal } = new AbortController();
const resolving = (...addresses: string[]): NonNullable<NotifyReceiverOptions['resolve']> =>
  ((_: string, __: object, answer: (error: null, found: LookupAddress[]) => void) => {
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    answer(null, found);
  }) as unknown as NonNullable<NotifyReceiverOptions['resolve']>;

/** How a message to the URL ends: what the error says, or nothing. */
async function posted(url: string, more: Partial<NotifyReceiverOptions> = {}): Promise<string | undefined> {
  const receiver = createNotifyReceiver({ url, allowPrivate: false, userAgent: 'test', ...more });
  open.push(receiver);
  return receiver.post('{}', {}, signal).then(() => undefined, messageOf);
}

const PRIVATE = '127.0.0.1 10.1.2.3 172.31.0.1 192.168.0.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1';
const PRIVATE_6 = '[::1] [fe80::1] [fd00::1] [::ffff:10.0.0.1] [64:ff9b::a00:1]';

it.each(`${PRIVATE} ${PRIVATE_6} 2130706433 0x7f.1`.split(' '))(
  'a message is not sent to %s, which is no public address',
  async (host) => {
    expect(await posted(`https://${host}/services/T0/secret`)).toMatch(
      /^\S+ is at \S+, which is not a public address\. Set MIRROR_NOTIFY_ALLOW_PRIVATE=on to allow it$/,
    );
  },
);

it('each address of a name is judged at the connection', async () => {
  const mixed = resolving('203.0.113.7', '10.0.0.1');
  const url = 'https://chat.example/services/T0/secret';
  expect(await posted(url, { resolve: resolving('10.0.0.1') })).toContain('chat.example is at 10.0.0.1');
  expect(await posted(url, { resolve: mixed })).toMatch(/not a public address/);
});

it('a message goes to private addresses if allowed, follows no redirect, and no error has the path', async () => {
  const paths: (string | undefined)[] = [];
  const server = await listen((request, response) => {
    paths.push(request.url);
    response.writeHead(request.url === '/moved/secret' ? 302 : 204, { location: '/elsewhere' }).end();
  });
  open.push(server);
  expect(await posted(`${server.url}/hook/secret?a=b`, { allowPrivate: true })).toBeUndefined();
  expect(await posted(`${server.url}/moved/secret`, { allowPrivate: true })).toBe(
    `127.0.0.1:${server.port} answered with 302`,
  );
  expect(paths).toEqual(['/hook/secret?a=b', '/moved/secret']);
  await server.close();
  expect(await posted(`${server.url}/hook/secret`, { allowPrivate: true })).not.toContain('secret');
});
