import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { startTestSandbox, STILL, TEST_USER } from '@research-mirror/sandbox/testing/sandbox';
import { createEventSink } from '../../../src/events/event-store.ts';
import { receivingAccounts } from '../../../src/events/receiving-accounts.ts';
import { createWebhookServer } from '../../../src/events/webhook-server.ts';
import { COLLECTION_NAMES } from '../../../src/model/collections.ts';
import type { Database } from '../../../src/postgres/pool.ts';
import { migrateTo, openTestDatabase, testDatabase } from '../../support/databases/migrated-database.ts';
import { createOwnServer } from '../../support/databases/own-server.ts';
import { envelope, SECRET, signedHeaders } from '../../support/webhooks/signing.ts';

// The receiver with its real neighbours: Postgres behind it, and in front of it the emulated service.

const open: (() => Promise<unknown>)[] = [];
const database = testDatabase();

beforeEach(async () => {
  for (const table of ['account', 'registration', 'event_seen', 'hint'])
    await database.db.sql`delete from ${sql.id('mirror_sync', table)}`;
  await database.db.sql`delete from mirror.events`;
});
afterEach(async () => {
  for (const end of open.splice(0).toReversed()) await end();
});

/** A receiver of one process. @returns where an account's deliveries go */
async function receive({ db }: Database = database, header = 'X-Service-Signature'): Promise<string> {
  await db.sql`insert into mirror_sync.account (_user_id, created_at) values (${TEST_USER}, now())`;
  const server = createWebhookServer({
    host: '127.0.0.1',
    port: 0,
    header,
    scheme: 'auto',
    accounts: receivingAccounts({ db, clock: systemClock, allPinged: () => true, hide: () => {} }),
    store: createEventSink(db, COLLECTION_NAMES, systemClock),
    clock: systemClock,
    log: { info: () => {}, warn: () => {} },
    onEvent: () => {},
  });
  await server.start();
  open.push(() => server.stop());
  return `http://127.0.0.1:${server.port()}/webhooks/${TEST_USER}`;
}

/** As the registrar leaves a registration of an hour ago. */
async function register(secret: string, { db }: Database = database): Promise<void> {
  await db.sql`insert into mirror_sync.registration (_user_id, state, secret, secret_at)
    values (${TEST_USER}, 'registered', ${secret}, now() - interval '1 hour')`;
}

async function storedIds(): Promise<Set<string>> {
  const { rows } = await database.db.sql<{ id: string }>`select id from mirror.events`;
  return new Set(rows.map(({ id }) => id));
}

describe('a database in trouble', () => {
  it('that is away lets deliveries come again, and stores them when it is back', async () => {
    const own = await createOwnServer();
    open.push(() => own.remove());
    const postgres = await own.up();
    await migrateTo(postgres, 'mirror');
    const db = await openTestDatabase(postgres);
    open.push(() => db.close());
    const url = await receive(db);
    await register(SECRET, db);
    const deliver = async (id: string): Promise<number> => {
      const body = envelope(id);
      const headers = signedHeaders('hex', SECRET, body, Date.now());
      return (await fetch(url, { method: 'POST', body, headers })).status;
    };
    expect(await deliver('evt_1')).toBe(200);
    await own.down();
    expect(await deliver('evt_2')).toBe(503);
    await own.up();
    await eventually('the database is back', async () => (await deliver('evt_2')) === 200);
  });
});

describe('the emulated service', () => {
  async function deliverTo(options: Partial<SandboxOptions>) {
    const sandbox = await startTestSandbox({ ...STILL, limits: 'off', deliveryRetryMs: 50, ...options });
    open.push(() => sandbox.stop());
    await sandbox.control.clock({ freeze: true });
    const url = await receive(database, options.signatureHeader);
    const response = await fetch(`${sandbox.url}/v1/webhooks/register`, {
      method: 'POST',
      headers: { authorization: `Bearer ${sandbox.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url }),
    });
    await register(((await response.json()) as { secret: string }).secret);
    return sandbox;
  }

  it.each<Partial<SandboxOptions>>([
    { signature: 'hex', signatureHeader: 'X-Other-Header', signatureKey: 'hex-decoded', webhookUrl: 'slash' },
    { signature: 'sha256-hex' },
    { signature: 'base64' },
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
    await eventually('all events', async () => (await storedIds()).size === 8);
    expect(await storedIds()).toEqual(new Set(ids));
    await eventually('all answers', async () => (await sandbox.control.deliveries()).length >= 8);
    const statuses = (await sandbox.control.deliveries()).map(({ status }) => status);
    // On a busy machine the database may take too long: such a delivery comes again. None is refused.
    expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
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
    expect(await storedIds()).toEqual(new Set(ids));
  });
});
