import { isStopped } from '@research-mirror/runtime/service';
import { startTestSandbox, STILL, type TestSandbox } from '@research-mirror/sandbox/testing/sandbox';
import { systemClock } from '@research-mirror/runtime/clock';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AccountCommand, type CommandArguments, runCommand } from '../../../src/account/account-command.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { testDatabase } from '../../support/databases/migrated-database.ts';
import { SILENT_LOG } from '../../support/sync/quiet-parts.ts';

const database = testDatabase();
let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startTestSandbox({ ...STILL, keys: 'one=1,two=2', jobs: 5 });
});
afterAll(() => sandbox.stop());

it('a command that fails in one account stops its work in the others, and is done when all have ended', async () => {
  const begun = Promise.withResolvers<void>();
  const ended: unknown[] = [];
  const command: AccountCommand<CommandArguments, never, never> = {
    name: 'verify',
    notDone: () => {
      throw new Error('nothing is left out');
    },
    work: async ({ fence }, _, { signal }) => {
      if (fence.userId === '1') {
        await begun.promise;
        throw new Error('no room');
      }
      begun.resolve();
      await systemClock.sleep(60_000, signal).catch((error: unknown) => ended.push(error));
      signal.throwIfAborted();
      return [];
    },
  };
  const config = loadConfig(
    { DATABASE_URL: database.url, MIRROR_API_URL: sandbox.url, MIRROR_API_KEY: 'one,two' },
    'service',
  );
  const { signal } = new AbortController();
  const options = { signal, log: SILENT_LOG, hide: () => {}, scrub: String, onProgress: () => {} };
  const running = runCommand(config, options, command, { collections: config.collections });
  await expect(running).rejects.toThrow('no room');
  // As a stop, which is no failure of what the others were reading.
  expect(ended.map(isStopped)).toEqual([true]);
  const { rows } = await database.db.sql`select owner from ${database.db.stateTable('account')}`;
  expect(rows).toEqual([{ owner: null }, { owner: null }]);
});
