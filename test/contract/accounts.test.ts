import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { mirrorCommands } from '../support/mirror/mirror-commands.ts';
import { runProgram } from '../support/processes/program.ts';

const mirror = mirrorCommands();
const { run, execute, wrongUsage } = mirror;

describe('accounts', () => {
  it('lists who is mirrored, by which keys, and why one has stopped', async () => {
    await execute(`insert into mirror_sync.account (_user_id, state, error, created_at)
      values (43, 'stopped', 'its key is refused', now())`);
    await execute(`insert into mirror_sync.api_key (key_hash, _user_id, pinged_at)
      values (repeat('ab', 32), 43, now())`);
    const { code, stdout } = await run('accounts');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ +42 .*active\n +43 +abababab +stopped: its key is refused\n2 accounts\n/m);
    const { stdout: json } = await run('accounts', 'list', '--json');
    expect(JSON.parse(json)).toMatchObject({
      accounts: [
        { userId: '42', state: 'active', error: null, keys: [] },
        { userId: '43', state: 'stopped', error: 'its key is refused', keys: ['abababab'] },
      ],
    });
  });

  it('move accepts the configured service, forgets whose the configured keys were, and merges nothing', async () => {
    await execute(`insert into mirror_sync.account (_user_id, state, error, origin, created_at)
      values (44, 'stopped', 'it moved', 'https://old.example', now()), (45, 'active', null, null, now())`);
    const hash = (key: string): string => createHash('sha256').update(key).digest('hex');
    await execute(`insert into mirror_sync.api_key (key_hash, _user_id, pinged_at, answered_for) values
      ('${hash('one')}', 44, now(), 45), ('${hash('two')}', 45, now(), null), ('${hash('three')}', 44, now(), null)`);
    const env = {
      DATABASE_URL: mirror.database.url,
      MIRROR_API_URL: 'https://new.example/v1/',
      MIRROR_API_KEY: 'one,two',
    };
    const move = (...args: string[]) => runProgram(['accounts', 'move', ...args], { cwd: mirror.cwd, env });
    const { code, stdout } = await move('44', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      userId: '44',
      origin: 'https://new.example',
      keys: [hash('one').slice(0, 8)],
    });
    const listed = JSON.parse((await run('accounts', '--json')).stdout) as { accounts: object[] };
    expect(listed.accounts.slice(-2)).toMatchObject([
      {
        userId: '44',
        state: 'active',
        error: null,
        origin: 'https://new.example',
        keys: [hash('three').slice(0, 8)],
      },
      { userId: '45', origin: null, keys: [hash('two').slice(0, 8)] },
    ]);
    expect(await move('44')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('next start') as string,
    });
    expect(await move('99')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no account 99') as string,
    });
  });

  wrongUsage('accounts', [
    ['an action there is not', ['lists'], `has no action "lists" (did you mean list?)`],
    ['no account to be moved', ['move'], 'accounts move needs a user_id'],
    ['one that is no number', ['move', 'me'], '"me" is not a user_id'],
    ['options of another action', ['move', '42', '--demo'], 'accounts move has no option --demo'],
    ['an account where none is meant', ['list', '42'], 'accounts list takes no user_id'],
  ]);
});
