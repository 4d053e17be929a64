import { afterAll, beforeAll, expect, it } from 'vitest';
import { hashOfKey } from '../../../../src/app/accounts/servable-keys.ts';
import { Secret } from '../../../../src/config/secret.ts';
import { lookAtKeys } from '../../../../src/app/status/collect-status.ts';
import { rememberKey, rememberMoved } from '../../../../src/db/accounts/api-keys.ts';
import {
  createMigratedDatabase,
  type MigratedDatabase,
} from '../../../support/databases/migrated-database.ts';

const hashOf = (key: string): string => hashOfKey(new Secret(key));

let database: MigratedDatabase;
beforeAll(async () => {
  database = await createMigratedDatabase();
});
afterAll(() => database.drop());

it('counts each configured key in one state, and names those that are of no use', async () => {
  for (const key of ['good', 'withdrawn', 'moved', 'not configured']) {
    await rememberKey(database.db, hashOf(key), { userId: '1' });
  }
  const moved = { keyHash: hashOf('moved'), userId: '1', answeredFor: '2', at: new Date() };
  await rememberMoved(database.db, moved);
  await rememberKey(database.db, hashOf('wrong'), { error: '401' });
  const config = (...keys: string[]) =>
    ({ service: { url: 'https://service.example', keys: keys.map((key) => new Secret(key)) } }) as never;
  const all = config('good', 'withdrawn', 'moved', 'wrong', 'new');
  const command = await lookAtKeys(all, database.db, undefined, []);
  expect(command.counts).toEqual({ good: 2, refused: 1, moved: 1, unasked: 1 });
  expect(command.findings).toMatchObject([
    { cause: 'key_refused', what: expect.stringMatching(/^the 4th of MIRROR_API_KEY .*: 401$/) as string },
    { cause: 'account_moved' },
  ]);
  // An account that stopped for it says so itself.
  const stopped = { state: 'stopped', error: command.findings[1]?.what ?? '' } as const;
  expect((await lookAtKeys(all, database.db, undefined, [stopped])).findings).toHaveLength(1);

  // A daemon knows more: a key that has an owner was refused, and why the owner of another is not known.
  const runner = {
    current: () => ({ account: { source: { refusedKeys: () => [hashOf('withdrawn')] } } }),
  };
  const unknownKeys = new Map([[hashOf('new').slice(0, 8), 'no answer']]);
  const daemon = { runners: () => [runner], unknownKeys: () => unknownKeys } as never;
  const known = await lookAtKeys(all, database.db, daemon, []);
  expect(known.counts).toEqual({ good: 1, refused: 2, moved: 1, unasked: 1 });
  expect(known.findings[0]?.what).toMatch(/^the 5th of MIRROR_API_KEY .*: no answer$/);

  expect(await lookAtKeys({ service: undefined }, database.db, undefined, [])).toEqual({
    counts: null,
    findings: [],
  });
});
