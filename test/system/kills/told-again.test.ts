import { afterAll, beforeAll, expect, it } from 'vitest';
import { Webhook } from 'standardwebhooks';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { listen, type LoopbackServer } from '@research-mirror/runtime/testing/loopback-server';
import { createSystem, type Daemon, type System } from '../../support/processes/system.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const WITHIN_MS = 90_000;

let system: System;
let receiver: LoopbackServer;
const came: { readonly id: string; readonly text: string }[] = [];
/** While a request waits for its answer. */
let onMessage: () => Promise<unknown> = () => Promise.resolve();

beforeAll(async () => {
  receiver = await listen((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const { text } = new Webhook(SECRET).verify(body, request.headers as Record<string, string>) as {
        text: string;
      };
      came.push({ id: String(request.headers['webhook-id']), text });
      void onMessage().then(() => response.end());
    });
  });
  system = await createSystem();
});
afterAll(async () => {
  await system.close();
  await receiver.close();
});

const environment = (): Record<string, string> => ({
  MIRROR_NOTIFY_URL: `${receiver.url}/services/T0/secret`,
  MIRROR_NOTIFY_SECRET: SECRET,
  MIRROR_NOTIFY_ALLOW_PRIVATE: 'on',
});

it('a message is sent again, with its ID, where the daemon was killed before it knew that it came', async () => {
  await system.sync(['--full'], { env: environment() });
  const first: Daemon = await system.daemon(environment());
  await system.db.query(`update mirror_sync.installation set held_at = now(), held_why = 'a copy'`);
  const isFound = async (): Promise<boolean> =>
    (await system.db.query('select from mirror_sync.problem')).rowCount === 1;
  await eventually('the problem to be found', isFound, WITHIN_MS);
  onMessage = () => first.stop('SIGKILL');
  // A minute of steadiness, brought forward.
  await system.db.query(`update mirror_sync.problem set found_at = found_at - interval '1 min'`);
  await eventually('the message', () => came.length === 1, WITHIN_MS);
  await first.ended;
  onMessage = () => Promise.resolve();
  const second = await system.daemon(environment());
  // The turn that the dead one had.
  await system.db.query(`update mirror_sync.problem set retry_at = null`);
  await eventually('the message again', () => came.length === 2, WITHIN_MS);
  expect(came[1]?.id).toBe(came[0]?.id);
  expect(came[0]?.text).toMatch(/^Problem, mirror "mirror" of 127.0.0.1:\d+: .*a copy/);
  const output = `${first.output()}${second.output()}`;
  expect(output).toContain(`problems are told to 127.0.0.1:${receiver.port}`);
  for (const secret of ['T0/secret', SECRET.slice(6)]) expect(output).not.toContain(secret);
  await second.stop();
});
