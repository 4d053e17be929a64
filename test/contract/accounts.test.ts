import { describe, expect, it } from 'vitest';
import { mirrorCommands } from '../support/mirror-commands.ts';

const mirror = mirrorCommands();
const { run, execute } = mirror;

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

  it.each([
    ['an action there is not', ['lists'], `can't "lists" (did you mean list?)`],
    ['an account where none is meant', ['list', '42'], 'accounts list takes no user_id'],
  ])('%s is wrong usage', async (_, args, message) => {
    expect(await run('accounts', ...args)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message) as string,
    });
  });
});
