import { describe, expect, it } from 'vitest';
import { mirrorCommands } from '../support/mirror/mirror-commands.ts';

const mirror = mirrorCommands();
const { run, execute } = mirror;

describe('indexes', () => {
  it('shows what is suggested, makes it, tells what it takes and how often it was used, and drops it', async () => {
    await execute('create index mine on mirror.lists (_deleted_at)');
    const before = await run('indexes');
    expect(before.code).toBe(0);
    expect(before.stdout).toMatch(/^lists_by_key +suggested +~0 bytes +where _key = /m);
    expect(before.stdout).toMatch(/^mine +other +8\.0 kB +0 +CREATE INDEX mine ON mirror\.lists /m);
    expect(before.stdout).toContain('"indexes create --all" makes what is suggested');
    const made = await run('indexes', 'create', 'lists_by_key', 'lists_by_created_at');
    expect(made).toMatchObject({ code: 0, stderr: expect.stringMatching(/^making lists_by_key/) as string });
    expect(made.stdout).toBe(
      'lists_by_key: made\nlists_by_created_at: its column is not there yet: the daemon makes it when it comes\n',
    );
    const { stdout } = await run('indexes', 'list', '--json');
    const { indexes } = JSON.parse(stdout) as { indexes: { name: string }[] };
    expect(indexes.find(({ name }) => name === 'lists_by_key')).toEqual({
      name: 'lists_by_key',
      table: 'lists',
      state: 'kept',
      over: '_key',
      purpose: 'key',
      bytes: 8192,
      expectedBytes: null,
      scans: 0,
      coveredBy: null,
    });
    expect(indexes.find(({ name }) => name === 'lists_by_created_at')).toMatchObject({ state: 'waiting' });
    const dropped = await run('indexes', 'drop', '--all', '--json');
    expect(dropped.code).toBe(0);
    expect(JSON.parse(dropped.stdout)).toEqual({
      indexes: expect.arrayContaining([
        { name: 'lists_by_key', outcome: 'dropped', error: null },
        { name: 'lists_by_created_at', outcome: 'dropped', error: null },
      ]) as unknown,
    });
    expect(await run('indexes', 'drop', '--all')).toMatchObject({
      code: 0,
      stdout: 'there is none that "indexes create" made\n',
    });
  });

  it('leaves alone what it has not made, and ends with 1', async () => {
    await execute('create index if not exists watchlist_by_key on mirror.watchlist (id)');
    expect(await run('indexes', 'create', 'watchlist_by_key')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('somebody else’s: left alone') as string,
    });
    expect(await run('indexes', 'drop', 'watchlist_pkey')).toMatchObject({ code: 1 });
    expect(await run('indexes', 'drop', 'nothing')).toMatchObject({ code: 1 });
  });

  it.each([
    ['an action there is not', ['make'], `indexes can't "make"`],
    ['create without a name', ['create'], 'indexes create: name some, or say --all'],
    ['names and --all', ['drop', 'lists_by_key', '--all'], 'indexes drop: name some, or say --all'],
    ['a name for list', ['list', 'lists_by_key'], 'indexes list takes no name'],
    ['--all for list', ['--all'], 'indexes list has no option --all'],
    ['an index there is not', ['create', 'lists_by_keys'], '(did you mean lists_by_key?)'],
  ])('%s is wrong usage', async (_, args, message) => {
    expect(await run('indexes', ...args)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message) as string,
    });
  });
});
