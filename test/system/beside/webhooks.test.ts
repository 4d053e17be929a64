import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { listen } from '@research-mirror/runtime/testing/loopback-server';
import { differences } from '../../support/mirror/mirror-truth.ts';
import {
  createFrozenSystem,
  type Daemon,
  type Environment,
  type System,
} from '../../support/processes/system.ts';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';

let system: System;
afterEach(() => system.close());

/** All its jobs ended long ago: without polls nothing would show one that goes on by itself. */
function still(switches: Partial<SandboxOptions> = {}): Promise<System> {
  return createFrozenSystem({ epoch: '2020-01-01T00:00:00Z', ...switches });
}

/** Nothing is read but what an event asks for. */
const NO_POLLS: Environment = { MIRROR_POLL_CRON: 'never', MIRROR_FULL_CRON: 'never' };

async function reachable(): Promise<{ readonly publicUrl: string; readonly env: Environment }> {
  const port = await nonEphemeralPort();
  const publicUrl = `http://127.0.0.1:${port}`;
  return { publicUrl, env: { ...NO_POLLS, MIRROR_PUBLIC_URL: publicUrl, MIRROR_WEBHOOK_PORT: String(port) } };
}

const deliveryUrl = (publicUrl: string): string => `${publicUrl}/webhooks/${system.sandbox.userId}`;

/** A daemon whose mirror is loaded, and which is registered. */
async function registered(env: Environment): Promise<Daemon> {
  const daemon = await system.daemon(env);
  await eventually('the registration', async () => (await registration())?.state === 'registered');
  await eventually('the first load', async () => (await differences(system)).length === 0);
  return daemon;
}

async function registration(): Promise<{ state: string; url: string | null } | undefined> {
  const { rows } = await system.db.query<{ state: string; url: string | null }>(
    'select state, url from mirror_sync.registration',
  );
  return rows[0];
}

const aJob = (): Promise<string> =>
  system.one(`select job_id from mirror.research_jobs where status = 'completed' order by random() limit 1`);

/** Changes a job, of which only an event tells. @returns the event's ID */
async function tellOfAChange(note: string): Promise<string> {
  const id = await aJob();
  const { control } = system.sandbox;
  await control.mutate({ op: 'update', collection: 'research_jobs', id, fields: { note }, silent: true });
  const [event] = await control.emit({ type: 'research.completed', ids: [id] });
  if (typeof event !== 'string') throw new Error('nobody is registered for events');
  return event;
}

/** Until the mirror shows it. */
async function shown(note: string): Promise<void> {
  const query = `select 1 from mirror.research_jobs where _raw ->> 'note' = $1`;
  await eventually(`the row that ${note} changed`, async () => {
    return (await system.db.query(query, [note])).rows.length > 0;
  });
}

async function storedEvents(): Promise<string[]> {
  const { rows } = await system.db.query<{ id: string }>('select id from mirror.events order by received_at');
  return rows.map(({ id }) => id);
}

describe('a daemon with a public URL', () => {
  it('registers itself, stores what is delivered, and mirrors what it tells of without a poll', async () => {
    system = await still();
    const { publicUrl, env } = await reachable();
    const daemon = await registered(env);
    const webhook = await system.sandbox.control.webhook();
    expect(webhook?.url).toBe(deliveryUrl(publicUrl));

    const event = await tellOfAChange('first');
    await shown('first');
    expect(await storedEvents()).toEqual([event]);
    expect(await differences(system)).toEqual([]);
    // The hint is settled with the row: nothing is read again for it.
    await eventually('no hint', async () => {
      return (await system.db.query('select 1 from mirror_sync.hint')).rows.length === 0;
    });

    // As analysts see it, and without the secret, which no output shows either.
    const { rows } = await system.db.query('select url, active, _raw::text as raw from mirror.webhook');
    expect(rows).toMatchObject([{ url: deliveryUrl(publicUrl), active: true }]);
    expect(JSON.stringify(rows)).not.toContain(webhook?.secret);
    expect((await system.run(['status'])).code).toBe(0);
    expect(await daemon.stop()).toMatchObject({ code: 0 });
    expect(daemon.output()).not.toContain(webhook?.secret);
  });

  it('that leads elsewhere says so at once, with the remedy', async () => {
    system = await still();
    const stranger = await listen((_, answer) => void answer.end('ok\n'));
    try {
      const { env } = await reachable();
      const daemon = await registered({ ...env, MIRROR_PUBLIC_URL: stranger.url });
      await eventually('the problem', async () => (await system.run(['status'])).code === 1);
      const { problems } = JSON.parse((await system.run(['status', '--json'])).stdout) as {
        problems: unknown;
      };
      expect(problems).toEqual([
        expect.objectContaining({
          cause: 'webhook_astray',
          what: expect.stringMatching(
            /MIRROR_PUBLIC_URL \(127\.0\.0\.1:\d+\) does not lead to 127\.0\.0\.1:\d+: something else answers.*nginx/,
          ) as string,
        }),
      ]);
      expect(daemon.output()).toContain('its deliveries do not get here');
      await daemon.stop();
    } finally {
      await stranger.close();
    }
  });

  it('leaves another URL alone unless it is told to take over', async () => {
    system = await still();
    const theirs = 'https://elsewhere.example/hook';
    await system.sandbox.control.registerElsewhere({ url: theirs });
    const { publicUrl, env } = await reachable();
    const first = await system.daemon(env);
    await eventually('the foreign registration', async () => (await registration())?.state === 'foreign');
    expect((await system.sandbox.control.webhook())?.url).toBe(theirs);
    const { rows } = await system.db.query('select url from mirror.webhook');
    expect(rows).toEqual([{ url: theirs }]);
    await first.stop();

    const second = await registered({ ...env, MIRROR_WEBHOOK_TAKEOVER: 'always' });
    expect((await system.sandbox.control.webhook())?.url).toBe(deliveryUrl(publicUrl));
    await tellOfAChange('ours');
    await shown('ours');
    await second.stop();
  });

  it('is not ready from a delivery that Postgres refuses until it is delivered again', async () => {
    system = await still({ deliveryRetryMs: 200, deliveryRetries: 20 });
    const { env } = await reachable();
    const daemon = await registered(env);
    const ready = async (): Promise<string> => (await fetch(`${daemon.statusUrl}/readyz`)).text();
    await system.db.query('alter table mirror.events rename to hidden');
    await tellOfAChange('refused');
    await eventually('not to be ready', async () => (await ready()).includes('mirror.events'));
    await system.db.query('alter table mirror.hidden rename to events');
    await shown('refused');
    await eventually('to be ready', async () => (await ready()) === '{"ok":true}');
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });
});

describe('two daemons behind one public URL', () => {
  it('both receive: what the one that waits is told is mirrored by the owner', async () => {
    system = await still();
    const { env } = await reachable();
    const owner = await registered(env);
    // As a load balancer would: the same URL, delivered to the other one's port.
    const port = await nonEphemeralPort();
    const other = await system.daemon({ ...env, MIRROR_WEBHOOK_PORT: String(port) });
    const { secret = '' } = (await system.sandbox.control.webhook()) ?? {};
    expect(secret).not.toBe('');
    const id = await aJob();
    await system.sandbox.control.mutate({
      op: 'update',
      collection: 'research_jobs',
      id,
      fields: { note: 'by the other' },
      silent: true,
    });
    const body = JSON.stringify({
      id: 'evt_other',
      type: 'research.completed',
      created_at: new Date().toISOString(),
      data: { job_id: Number(id) },
    });
    const answer = await fetch(`http://127.0.0.1:${port}/webhooks/${system.sandbox.userId}`, {
      method: 'POST',
      headers: { 'X-Service-Signature': hmac(secret, body) },
      body,
    });
    expect(answer.status).toBe(200);
    await shown('by the other');
    expect(await storedEvents()).toEqual(['evt_other']);
    await Promise.all([owner.stop(), other.stop()]);
  });
});

function hmac(secret: string, body: string): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}
