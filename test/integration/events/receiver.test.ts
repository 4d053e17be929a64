import { sql } from 'kysely';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/postgres/pool.ts';
import { createEventSink } from '../../../src/events/event-store.ts';
import { receivingAccounts } from '../../../src/events/receiving-accounts.ts';
import { COLLECTION_NAMES } from '../../../src/model/collections.ts';
import type { Scheme } from '../../../src/config/parse-values.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { createWebhookServer, type WebhookServer } from '../../../src/events/webhook-server.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { migrateTo, openTestDatabase, testDatabase } from '../../support/databases/migrated-database.ts';
import { createOwnServer } from '../../support/databases/own-server.ts';
import {
  startTestSandbox,
  STILL,
  TEST_USER,
  type TestSandbox,
} from '@research-mirror/sandbox/testing/sandbox';
import { envelope, SECRET, signedHeaders } from '../../support/webhooks/signing.ts';

// The receiver with its real neighbours: Postgres behind it, and in front of it the emulated service.

const USER = String(TEST_USER);
const open: (() => Promise<unknown>)[] = [];
const database = testDatabase();

beforeEach(async () => {
  for (const table of ['account', 'registration', 'event_seen', 'hint']) {
    await sql`delete from ${sql.id('mirror_sync', table)}`.execute(database.kysely);
  }
  await sql`delete from mirror.events`.execute(database.kysely);
});
afterEach(async () => {
  for (const end of open.splice(0).toReversed()) await end();
});

/** A receiver of one process. */
async function receive(db: Database = database, header = 'X-Service-Signature'): Promise<WebhookServer> {
  const server = createWebhookServer({
    host: '127.0.0.1',
    port: 0,
    header,
    scheme: 'auto',
    accounts: receivingAccounts({
      db: db.db,
      clock: systemClock,
      allPinged: () => true,
      hide: () => {},
    }),
    store: createEventSink(db.db, COLLECTION_NAMES, systemClock),
    clock: systemClock,
    log: { info: () => {}, warn: () => {} },
    onEvent: () => {},
  });
  await server.start();
  open.push(() => server.stop());
  return server;
}

async function addAccount(db: Database = database): Promise<void> {
  await db.db.sql`insert into mirror_sync.account (_user_id, created_at) values (${USER}, now())`;
}

/** As the registrar leaves a registration of an hour ago. */
async function register(secret: string, db: Database = database): Promise<void> {
  await db.db.sql`
    insert into mirror_sync.registration (_user_id, state, secret, secret_at)
    values (${USER}, 'registered', ${secret}, now() - interval '1 hour')
    on conflict (_user_id) do update set secret = excluded.secret, secret_at = excluded.secret_at`;
}

interface Sent {
  readonly scheme?: Scheme;
  readonly secret?: string;
}

async function deliver(
  server: WebhookServer,
  id: string,
  { scheme = 'hex', secret = SECRET }: Sent = {},
): Promise<readonly [number, string]> {
  const body = envelope(id);
  const response = await fetch(`http://127.0.0.1:${server.port()}/webhooks/${USER}`, {
    method: 'POST',
    body,
    headers: signedHeaders(scheme, secret, body, Date.now()),
  });
  return [response.status, (await response.text()).trim()];
}

async function storedIds(): Promise<string[]> {
  const { rows } = await database.db.sql<{ id: string }>`select id from mirror.events order by id`;
  return rows.map(({ id }) => id);
}

describe('a delivery', () => {
  it('is accepted with every form of signature, and with the secret of a new registration', async () => {
    await addAccount();
    await register(SECRET);
    const server = await receive();
    for (const scheme of ['timestamped', 'hex', 'canonical-json', 'standard-webhooks'] as const) {
      expect(await deliver(server, scheme, { scheme })).toEqual([200, 'stored']);
    }
    await register(`${SECRET}ab`);
    expect(await deliver(server, 'evt_3', { secret: `${SECRET}ab` })).toEqual([200, 'stored']);
  });
});

describe('a database in trouble', () => {
  it('that hangs lets deliveries come again; what it stored meanwhile is known then', async () => {
    await addAccount();
    await register(SECRET);
    const server = await receive();
    await deliver(server, 'evt_1');
    const blocker = new pg.Client({ connectionString: database.url });
    await blocker.connect();
    open.push(() => blocker.end());
    await blocker.query('begin; lock table mirror.events in access exclusive mode');
    const answers = await Promise.all(['evt_2', 'evt_3', 'evt_4'].map((id) => deliver(server, id)));
    expect(answers).toEqual(answers.map(() => [503, 'not now: the database takes too long']));
    await blocker.query('rollback');
    await eventually('what was on its way', async () => (await storedIds()).length === 4);
    expect(await deliver(server, 'evt_2')).toEqual([200, 'known']);
  });

  it('that is away lets deliveries come again, and stores them when it is back', async () => {
    const own = await createOwnServer();
    open.push(() => own.remove());
    const url = await own.up();
    await migrateTo(url, 'mirror');
    const db = await openTestDatabase(url);
    open.push(() => db.close());
    await addAccount(db);
    await register(SECRET, db);
    const server = await receive(db);
    expect((await deliver(server, 'evt_1'))[0]).toBe(200);
    await own.down();
    expect((await deliver(server, 'evt_2'))[0]).toBe(503);
    await own.up();
    await eventually('the database is back', async () => (await deliver(server, 'evt_2'))[0] === 200);
  });
});

describe('the emulated service', () => {
  async function deliverTo(options: Partial<SandboxOptions>): Promise<TestSandbox> {
    const sandbox = await startTestSandbox({ ...STILL, limits: 'off', deliveryRetryMs: 50, ...options });
    open.push(() => sandbox.stop());
    await sandbox.control.clock({ freeze: true });
    await addAccount();
    const server = await receive(database, options.signatureHeader);
    const response = await fetch(`${sandbox.url}/v1/webhooks/register`, {
      method: 'POST',
      headers: { authorization: `Bearer ${sandbox.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: `http://127.0.0.1:${server.port()}/webhooks/${USER}` }),
    });
    await register(((await response.json()) as { secret: string }).secret);
    return sandbox;
  }

  it.each<Partial<SandboxOptions>>([
    { signature: 'hex', signatureHeader: 'X-Other-Header' },
    { signature: 'hex', signatureKey: 'hex-decoded' },
    { signature: 'sha256-hex' },
    { signature: 'base64', webhookUrl: 'slash' },
    { signature: 'timestamped', signatureKey: 'hex-decoded' },
    { signature: 'standard-webhooks' },
    { signature: 'canonical-json' },
  ])('signs by %j, and all of its events are stored', async (options) => {
    const sandbox = await deliverTo(options);
    const ids = await sandbox.control.emit(
      { type: 'research.completed', count: 5 },
      { type: 'list.analyzed', count: 2 },
      { type: 'watchlist.change_detected', data: { company: 'Zoë \u{1F600} & Söhne', score: 1.5 } },
    );
    expect(ids).toHaveLength(8);
    await eventually('all events', async () => (await storedIds()).length === 8);
    expect(new Set(await storedIds())).toEqual(new Set(ids));
    await eventually('all answers', async () => (await sandbox.control.deliveries()).length >= 8);
    const deliveries = await sandbox.control.deliveries();
    // On a busy machine the database may take too long: such a delivery comes again. None is refused.
    expect(deliveries.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
  });

  it('delivers twice, in another order and beside forgeries: each event is stored once, no forgery is', async () => {
    const hostile = { deliveryDuplicate: 0.3, deliveryReorder: 0.1, deliveryForged: 0.3 };
    const sandbox = await deliverTo({ ...hostile, deliveryRetries: 10 });
    const ids = await sandbox.control.emit({ type: 'research.completed', count: 200 });
    const counters = await eventually('all deliveries', async () => {
      const { deliveries } = await sandbox.control.counters();
      return deliveries.waiting + deliveries.underWay === 0 && deliveries;
    });
    expect(counters).toMatchObject({ failed: 0, forgedAccepted: 0 });
    expect(counters.attempts).toBeGreaterThan(250);
    expect(new Set(await storedIds())).toEqual(new Set(ids));
  });
});
