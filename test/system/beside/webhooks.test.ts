import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createAddress } from '../../support/network/address.ts';
import { listen } from '@research-mirror/runtime/testing/loopback-server';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { createFrozenSystem, type Environment, type System } from '../../support/processes/system.ts';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';

let system: System;
afterEach(() => system.close());

/** All its jobs ended long ago: without polls nothing would show one that goes on by itself. */
function still(switches: Partial<SandboxOptions> = {}): Promise<System> {
  return createFrozenSystem({ epoch: '2020-01-01T00:00:00Z', ...switches });
}

/** Nothing is read but what an event asks for. */
const NO_POLLS: Environment = { MIRROR_POLL_CRON: 'never', MIRROR_FULL_CRON: 'never' };

async function reachable() {
  const port = await nonEphemeralPort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const env = { ...NO_POLLS, MIRROR_PUBLIC_URL: publicUrl, MIRROR_WEBHOOK_PORT: String(port) };
  return { deliveryUrl: `${publicUrl}/webhooks/${system.sandbox.userId}`, env };
}

const registrationIs = (state: string): Promise<boolean> =>
  eventually(`a registration that is ${state}`, async () => {
    const { rows } = await system.db.query('select state from mirror_sync.registration');
    return rows[0]?.state === state;
  });

/** Until the mirror is loaded, and registered. */
async function ready(): Promise<void> {
  await registrationIs('registered');
  await eventually('the first load', async () => (await differences(system)).length === 0);
}

/** Changes a job, of which only an event tells. @returns the event's ID */
async function tellOfAChange(note: string): Promise<string> {
  const { control } = system.sandbox;
  const id: string = await system.one(
    `select job_id from mirror.research_jobs where status = 'completed' order by random() limit 1`,
  );
  await control.mutate({ op: 'update', collection: 'research_jobs', id, fields: { note }, silent: true });
  const [event] = await control.emit({ type: 'research.completed', ids: [id] });
  if (typeof event !== 'string') throw new Error('nobody is registered for events');
  return event;
}

/** Until the mirror shows it. */
async function shown(note: string): Promise<void> {
  const query = `select 1 from mirror.research_jobs where _raw ->> 'note' = $1`;
  await eventually(`the row that ${note} changed`, async () => (await system.db.query(query, [note])).rows.length > 0);
}

describe('a daemon with a public URL', () => {
  it('registers itself; what another one behind it is delivered is mirrored by the owner, without a poll', async () => {
    system = await still();
    const { env } = await reachable();
    const balancer = await createAddress(Number(env.MIRROR_WEBHOOK_PORT));
    const publicUrl = `http://127.0.0.1:${balancer.port}`;
    const deliveryUrl = `${publicUrl}/webhooks/${system.sandbox.userId}`;
    const owner = await system.daemon({ ...env, MIRROR_PUBLIC_URL: publicUrl });
    await ready();
    const webhook = await system.sandbox.control.webhook();
    expect(webhook?.url).toBe(deliveryUrl);
    const port = await nonEphemeralPort();
    const other = await system.daemon({
      ...env,
      MIRROR_PUBLIC_URL: publicUrl,
      MIRROR_WEBHOOK_PORT: String(port),
    });

    const events = [await tellOfAChange('to the owner')];
    await shown('to the owner');
    await balancer.leadTo(port);
    events.push(await tellOfAChange('to the other'));
    await shown('to the other');
    const { rows: stored } = await system.db.query<{ id: string }>('select id from mirror.events');
    expect(stored.map(({ id }) => id).toSorted()).toEqual(events.toSorted());
    // A column that came late is filled.
    await eventually('no difference', async () => (await differences(system)).length === 0);
    // The hint is settled with the row: nothing is read again for it.
    await eventually('no hint', async () => {
      return (await system.db.query('select 1 from mirror_sync.hint')).rows.length === 0;
    });

    // As analysts see it, and without the secret, which no output shows either.
    const { rows } = await system.db.query('select url, active, _raw::text as raw from mirror.webhook');
    expect(rows).toMatchObject([{ url: deliveryUrl, active: true }]);
    expect(JSON.stringify(rows)).not.toContain(webhook?.secret);
    expect((await system.run(['status'])).code).toBe(0);
    for (const daemon of [other, owner]) {
      expect(await daemon.stop()).toMatchObject({ code: 0 });
      expect(daemon.output()).not.toContain(webhook?.secret);
    }
    await balancer.close();
  });

  it('that leads elsewhere says so at once, with the remedy', async () => {
    system = await still();
    const stranger = await listen((_, answer) => void answer.end('ok\n'));
    try {
      const { env } = await reachable();
      const daemon = await system.daemon({ ...env, MIRROR_PUBLIC_URL: stranger.url });
      await ready();
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
    const { deliveryUrl, env } = await reachable();
    const first = await system.daemon(env);
    await registrationIs('foreign');
    expect((await system.sandbox.control.webhook())?.url).toBe(theirs);
    const { rows } = await system.db.query('select url from mirror.webhook');
    expect(rows).toEqual([{ url: theirs }]);
    await first.stop();

    const second = await system.daemon({ ...env, MIRROR_WEBHOOK_TAKEOVER: 'always' });
    await ready();
    expect((await system.sandbox.control.webhook())?.url).toBe(deliveryUrl);
    await tellOfAChange('ours');
    await shown('ours');
    await second.stop();
  });

  it('is not ready from a delivery that Postgres refuses until it is delivered again', async () => {
    system = await still({ deliveryRetryMs: 200, deliveryRetries: 20 });
    const { env } = await reachable();
    const daemon = await system.daemon(env);
    await ready();
    const told = async (): Promise<string> => (await fetch(`${daemon.statusUrl}/readyz`)).text();
    await system.db.query('alter table mirror.events rename to hidden');
    await tellOfAChange('refused');
    await eventually('not to be ready', async () => (await told()).includes('mirror.events'));
    await system.db.query('alter table mirror.hidden rename to events');
    await shown('refused');
    await eventually('to be ready', async () => (await told()) === '{"ok":true}');
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });
});
