import { expect, it } from 'vitest';
import { lookAtKeys } from '../../../src/status/collect-status.ts';
import { readSuspects } from '../../../src/status/waiting.ts';
import { hashOfKey, Secret } from '../../../src/config/secret.ts';
import { rememberKey, rememberMoved } from '../../../src/postgres/accounts.ts';
import { testDatabase } from '../../support/databases/migrated-database.ts';
import { deleteAllBut, itemsWith, jobs, SNAPSHOT } from '../../support/mirror/deleting.ts';
import { MirroredAccount } from '../../support/mirror/mirrored-account.ts';

const database = testDatabase();

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);
const GRACE_MS = 60_000;
/** Collection, cause, number of rows, examples. @param laterMs time of the look, ms from now */
const groups = async (userId: string, laterMs = 0): Promise<string[]> =>
  (await readSuspects(database.db, new Date(Date.now() + laterMs), GRACE_MS))
    .filter((each) => each.userId === userId)
    .map(({ collection, cause, rows, examples }) => `${collection} ${cause} ${rows} ${examples.toSorted().join()}`);
const some = (what: string): string => expect.stringContaining(` ${what} `) as string;

it('suspected deletions are told apart: missed once, held, on their way, refused', async () => {
  const account = await MirroredAccount.make(database, '1');
  await account.observe('research_jobs', jobs(...upTo(60)));
  expect(await deleteAllBut(account, 'research_jobs', jobs(...upTo(40)))).toMatchObject({ blocked: 20 });
  await account.observe('research_jobs', jobs(...upTo(38)), { proof: SNAPSHOT });
  expect(await groups('1')).toEqual(['research_jobs brake 20 41,42,43,44,45', 'research_jobs second_proof 2 39,40']);
  await account.query(`update mirror._collections set held_deletions = 0 where _user_id = 1`);
  expect(await groups('1')).toEqual([some('second_proof 22')]);
  await account.query(`
    update mirror_sync.candidate set refused = 'a foreign key', refused_at = now()
    where _user_id = 1 and key in ('41', '42')`);
  expect(await groups('1')).toEqual(['research_jobs refused 2 41,42', some('second_proof 20')]);
});

it('deletions that wait for a second reading differ from those that need a full walk', async () => {
  const account = await MirroredAccount.make(database, '3');
  await account.observe('watchlist', itemsWith('id', ['a']));
  await account.query(`
    insert into mirror_sync.candidate (_user_id, collection, parent, key, kind, obs, at)
    select 3, 'watchlist', '', kind, kind, 1, now()
    from unnest(array['snapshot', 'interval', 'pair', 'returned']) as kind`);
  expect(await groups('3')).toEqual([
    'watchlist full_walk 1 pair',
    'watchlist second_proof 3 interval,returned,snapshot',
  ]);
  // The second reading was due a minute ago, which is the time it may take.
  expect(await groups('3', GRACE_MS + 61_000)).toEqual([
    'watchlist full_walk 3 interval,pair,snapshot',
    'watchlist second_proof 1 returned',
  ]);
  await account.query(`
    insert into mirror.quarantine (_user_id, collection, parent, item_hash, item, reason, first_seen_at, last_seen_at)
    values (3, 'watchlist', '', '', '{}', 'has no cursor ID', now(), now())`);
  // Only the page with that item proves nothing.
  expect(await groups('3')).toEqual([
    'watchlist item_without_id 2 pair,snapshot',
    'watchlist second_proof 2 interval,returned',
  ]);
  const later = [some('item_without_id 3'), some('second_proof 1')];
  expect(await groups('3', GRACE_MS + 61_000)).toEqual(later);
});

it('items are named with their list, and a list with an item without an ID is named', async () => {
  const account = await MirroredAccount.make(database, '2');
  await account.observe('lists', itemsWith('list_id', [7, 8]));
  for (const parent of ['7', '8']) await account.observe('list_items', itemsWith('id', ['a', 'b', 'c']), { parent });
  await account.age(account.gracePeriodMs);
  await account.observe('list_items', itemsWith('id', ['a']), { parent: '7', proof: SNAPSHOT });
  await account.observe('list_items', itemsWith('id', ['b', 'c']), { parent: '8', proof: SNAPSHOT });
  expect(await groups('2')).toEqual(['list_items second_proof 3 7:b,7:c,8:a']);
  for (const hash of ['', 'other']) {
    await account.query(`
      insert into mirror.quarantine (_user_id, collection, parent, item_hash, item, reason, first_seen_at, last_seen_at)
      values (2, 'list_items', '7', '${hash}', '{}', 'has no cursor ID', now(), now())`);
  }
  const left = ['list_items item_without_id 2 7:b,7:c', 'list_items second_proof 1 8:a'];
  expect(await groups('2')).toEqual(left);
});

const hashOf = (key: string): string => hashOfKey(new Secret(key));

it('each configured key counts in one state, and useless keys are named', async () => {
  for (const key of ['good', 'withdrawn', 'moved', 'not configured'])
    await rememberKey(database.db, hashOf(key), { userId: '1' });
  await rememberMoved(database.db, hashOf('moved'), '1', '2');
  await rememberKey(database.db, hashOf('wrong'), { error: '401' });
  const config = (...keys: string[]) =>
    ({ service: { url: 'https://service.example', keys: keys.map((key) => new Secret(key)) } }) as never;
  const all = config('good', 'withdrawn', 'moved', 'wrong', 'new');
  const command = await lookAtKeys(all, database.db, undefined, []);
  expect(command.counts).toEqual({ good: 2, refused: 1, moved: 1, unasked: 1 });
  expect(command.findings).toMatchObject([
    { cause: 'key_refused', what: expect.stringMatching(/^the 4th key in MIRROR_API_KEY .*: 401$/) as string },
    { cause: 'account_moved' },
  ]);
  // A stopped account reports these itself.
  const stopped = { state: 'stopped', error: command.findings[1]?.what ?? '' } as const;
  expect((await lookAtKeys(all, database.db, undefined, [stopped])).findings).toHaveLength(1);

  // A daemon also knows refused keys of accounts, and why another key's account is unknown.
  const runner = { current: () => ({ source: { refusedKeys: () => [hashOf('withdrawn')] } }) };
  const unknownKeys = new Map([[hashOf('new').slice(0, 8), 'no answer']]);
  const daemon = { runners: () => [runner], unknownKeys: () => unknownKeys } as never;
  const known = await lookAtKeys(all, database.db, daemon, []);
  expect(known.counts).toEqual({ good: 1, refused: 2, moved: 1, unasked: 1 });
  expect(known.findings[0]?.what).toMatch(/^the 5th key in MIRROR_API_KEY .*: no answer$/);

  expect(await lookAtKeys({ service: undefined }, database.db, undefined, [])).toEqual({
    counts: null,
    findings: [],
  });
});
