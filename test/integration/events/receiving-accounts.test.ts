import { beforeEach, expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { receivingAccounts } from '../../../src/events/receiving-accounts.ts';
import { webhookStore } from '../../../src/events/webhook-store.ts';
import { Db } from '../../../src/postgres/db.ts';
import { testDatabase } from '../../support/databases/migrated-database.ts';

// What receivers of any process read and report of an account's registration, in real Postgres.

const database = testDatabase();
let user = 0;
let userId: string;
let clock: VirtualClock;
/** Secrets that receivers asked to hide. */
let hidden: Set<string>;

beforeEach(async () => {
  userId = String((user += 1));
  clock = new VirtualClock();
  hidden = new Set();
  await database.db.sql`insert into mirror_sync.account (_user_id, owner, token, created_at)
    values (${userId}, 'tests', 1, now())`;
});

/** Receivers of a process of their own: what they remember is theirs. */
const receivers = (options: Partial<Parameters<typeof receivingAccounts>[0]> = {}) =>
  receivingAccounts({
    db: database.db,
    clock,
    allPinged: () => true,
    hide: (secret) => hidden.add(secret),
    ...options,
  });

/** The service accepts a registration. */
function register(secret: string): Promise<void> {
  const store = webhookStore(database.db, { userId, owner: 'tests', token: '1' }, () => {});
  return store.save((now) => ({ state: 'registered', secret, registeredAt: now }));
}

async function registration(): Promise<Record<string, unknown> | undefined> {
  const { rows } = await database.db.sql<Record<string, unknown>>`
    select *, xmin::text as version from mirror_sync.registration where _user_id = ${userId}`;
  return rows[0];
}

it('receivers know the accounts by their IDs: 503 until all keys are pinged, 404 then', async () => {
  const none = { state: 'none', current: undefined, previous: undefined, now: expect.any(Date) as Date };
  expect(await receivers().secretsOf(userId, false)).toEqual(none);
  for (const id of ['4711', '0', '007', 'x', '', '99999999999999999999', "1' or '1'='1"])
    expect(await receivers().secretsOf(id, true)).toBe('none');
  const early = receivers({ allPinged: () => false });
  expect(await early.secretsOf('4711', false)).toBe('unknown-yet');
  expect(await early.secretsOf(userId, false)).toEqual(none);
});

it('receivers deny no account by a list that was begun before all keys were pinged', async () => {
  let pinged = false;
  const process = receivers({ allPinged: () => pinged });
  expect(await process.secretsOf('4711', false)).toBe('unknown-yet');
  pinged = true;
  expect(await process.secretsOf('4711', false)).toBe('unknown-yet');
  await clock.advance(1_000);
  expect(await process.secretsOf('4711', false)).toBe('none');
});

it('receivers know an account by its key, before it has a row', async () => {
  await database.db.sql`insert into mirror_sync.api_key (key_hash, _user_id, pinged_at)
    values ('of 4712', 4712, now())`;
  expect(await receivers().secretsOf('4712', false)).toMatchObject({ current: undefined });
});

it('receivers have a new secret at once if the old one does not fit, the old one for a day, and hide both first', async () => {
  await register('first');
  const process = receivers();
  const first = await process.secretsOf(userId, false);
  expect(first).toMatchObject({ current: { secret: 'first' }, previous: undefined });
  expect(hidden).toEqual(new Set(['first']));
  await register('second');
  expect(await process.secretsOf(userId, false)).toEqual(first);
  await clock.advance(100);
  const second = await process.secretsOf(userId, true);
  expect(hidden).toEqual(new Set(['first', 'second']));
  if (typeof second === 'string') throw new Error('no secrets');
  const { previous, current, now } = second;
  expect([current?.secret, previous?.secret]).toEqual(['second', 'first']);
  const [until, since] = [Number(previous?.until), Number(current?.since)];
  expect(until - since).toBe(24 * 3_600_000);
  expect(now.getTime()).toBeGreaterThan(since);
});

it('receivers write a success once a minute', async () => {
  await register('secret');
  const process = receivers();
  await process.verified(userId, 'secret');
  const before = await registration();
  expect(before?.['verified_at']).toBeInstanceOf(Date);
  for (let times = 0; times < 50; times += 1) await process.verified(userId, 'secret');
  expect(await registration()).toEqual(before);
  await database.db.sql`update mirror_sync.registration set verified_at = now() - interval '1 hour'
    where _user_id = ${userId}`;
  const aged = await registration();
  await clock.advance(2_000);
  await process.verified(userId, 'secret');
  expect((await registration())?.['version']).not.toBe(aged?.['version']);
});

it('receivers do not count a success with a replaced secret for the new one', async () => {
  await register('first');
  await register('second');
  const before = await registration();
  await receivers().verified(userId, 'first');
  expect(await registration()).toEqual(before);
});

it('receivers of all processes count three mismatches at most, and trust the registration again after one success', async () => {
  await register('secret');
  const [one, other] = [receivers(), receivers()];
  for (let times = 0; times < 4; times += 1) for (const process of [one, other]) await process.mismatched(userId);
  expect(await registration()).toMatchObject({ mismatches: 3, verified_at: null });
  await receivers().verified(userId, 'secret');
  expect(await registration()).toMatchObject({ mismatches: 0, verified_at: expect.any(Date) as Date });
});

it('receivers turn 10,000 forgeries into a handful of queries', async () => {
  await register('secret');
  let queries = 0;
  const counted = database.kysely.withPlugin({
    transformQuery: ({ node }) => {
      queries += 1;
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  const process = receivers({ db: new Db(counted, 'mirror'), clock: systemClock });
  const forge = async (number: number): Promise<void> => {
    await process.secretsOf(String(1_000_000 + number), false);
    await process.secretsOf(userId, false);
    await process.secretsOf(userId, true);
    await process.mismatched(userId);
  };
  const began = performance.now();
  for (let round = 0; round < 10; round += 1)
    await Promise.all(Array.from({ length: 1_000 }, (_, each) => forge(round * 1_000 + each)));
  const seconds = (performance.now() - began) / 1_000;
  // The accounts each second, the secrets ten times a second; at first both and three mismatches.
  expect(queries).toBeLessThanOrEqual(6 + Math.ceil(seconds * 11));
  expect(await registration()).toMatchObject({ mismatches: 3 });
});
