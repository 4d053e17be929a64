import { hostname, userInfo } from 'node:os';
import { beforeAll, describe, expect, it } from 'vitest';
import { programVersion } from '../../src/config/program.ts';
import { forgottenHash } from '../../src/model/key.ts';
import { MirroredAccount } from '../support/mirror/mirrored-account.ts';
import { mirrorCommands } from '../support/mirror/mirror-commands.ts';
import { runProgram } from '../support/processes/program.ts';

const mirror = mirrorCommands();
const { execute } = mirror;

const SERVICE = { MIRROR_API_URL: 'https://new.example/v1', MIRROR_API_KEY: 'one' };
const run = (...args: readonly string[]) =>
  runProgram(args, { cwd: mirror.cwd, env: { DATABASE_URL: mirror.database.url, ...SERVICE } });

/** What was stored since the last call. */
const told = async () => {
  const rows = await execute<Record<'user' | 'act' | 'who' | 'os' | 'program' | 'recent', unknown>>(`
    select _user_id::text as "user", act, arguments as given, database_user = session_user as who, os_user as os,
      program, at between clock_timestamp() - interval '1 minute' and clock_timestamp() as recent
    from mirror.operator_log order by act_id`);
  await execute('delete from mirror.operator_log');
  return rows;
};

const queue = async (state: string): Promise<string> => {
  const [made] = await execute<{ id: string }>(`
    insert into mirror.submissions (_user_id, operation, payload, created_at, state)
    values (42, 'enrich', '{"secret": "of theirs"}', now(), '${state}') returning submission_id::text as id`);
  return made?.id ?? '';
};

beforeAll(async () => {
  const account = await MirroredAccount.make(mirror.database, '43');
  await account.page('research_jobs', '[{"job_id":7,"score":1.50},{"job_id":8,"score":2}]');
});

describe('operator_log', () => {
  const hashes = [forgottenHash({ userId: '43', collection: 'research_jobs', parent: '' }, '7')];

  it.each([
    ['accounts move', ['42'], '42', { origin: 'https://new.example' }],
    ['accounts retire', ['42'], '42', { removeData: false }],
    ['accounts retire', ['42', '--remove-data'], '42', { removeData: true }],
    ['accounts retire --undo', ['42'], '42', {}],
    [
      'columns set-type',
      ['research_jobs.score', 'text', '--yes'],
      '0',
      { table: 'research_jobs', column: 'score', type: 'text' },
    ],
    ['forget', ['research_jobs', '7', '99', '--user=43', '--yes'], '43', { table: 'research_jobs', hashes }],
    ['forget --undo', ['research_jobs', '7', '99', '--user=43'], '43', { table: 'research_jobs', hashes }],
  ])('has who did %s %j, when, and to what', async (act, args, user, given) => {
    await run(...act.split(' '), ...args);
    const os = `${userInfo().username}@${hostname()}`;
    expect(await told()).toEqual([{ user, act, given, who: true, os, program: programVersion(), recent: true }]);
  });

  it('has who cancelled and released submissions, by SQL too: then the login is all that is known', async () => {
    const first = await queue('queued');
    const second = await queue('held');
    await queue('held');
    await execute(
      `insert into mirror_sync.installation (created_at, held_at, held_why) values (now(), now(), 'a copy')`,
    );
    await run('submissions', 'cancel', first, first, '999');
    await run('submissions', 'cancel', first);
    await execute(`select mirror.cancel_submission(${second})`);
    await run('submissions', 'release');
    await run('submissions', 'release');
    const os = expect.stringContaining('@') as string;
    expect(await told()).toMatchObject([
      { user: '42', act: 'submissions cancel', given: { submission_id: Number(first) }, who: true, os },
      {
        user: '42',
        act: 'submissions cancel',
        given: { submission_id: Number(second) },
        who: true,
        os: null,
        program: null,
      },
      { user: '0', act: 'submissions release', given: { released: 1 }, who: true, os },
    ]);
  });

  it('has nothing of what only looks, asks or finds nothing to do', async () => {
    await run('accounts', 'list');
    await run('accounts', 'retire', '99');
    await run('accounts', 'retire', '42', '--undo');
    await run('accounts', 'move', '99');
    await run('columns', 'set-type', 'research_jobs.score', 'jsonb', '--dry-run');
    await run('columns', 'set-type', 'research_jobs.score', 'jsonb');
    await run('forget', 'research_jobs', '8', '--user=43', '--dry-run');
    await run('forget', 'research_jobs', '99', '--user=43', '--yes');
    await run('submit', 'enrich', '--user=42', '--no-wait');
    await execute(`select mirror.submit('enrich', '{}', user_id => 42)`);
    expect(await told()).toEqual([]);
  });

  it('has nothing of an act that does not commit, and an act that it can’t store is not done', async () => {
    const state = async () =>
      (await execute<{ state: string }>('select state from mirror_sync.account where _user_id = 42'))[0]?.state;
    await execute(`
      create function mirror_sync.refuse() returns trigger language plpgsql as $$ begin raise 'not today'; end $$;
      create constraint trigger refuse after update on mirror_sync.account
        deferrable initially deferred for each row execute function mirror_sync.refuse()`);
    for (const args of [
      ['accounts', 'retire', '42'],
      ['forget', 'research_jobs', '8', '--user=43', '--yes'],
    ]) {
      expect(await run(...args)).toMatchObject({ stderr: expect.stringContaining('not today') as string });
    }
    expect(await told()).toEqual([]);
    await execute('drop function mirror_sync.refuse cascade');
    await execute(`alter table mirror.operator_log add constraint c check (act <> 'accounts retire')`);
    expect((await run('accounts', 'retire', '42')).code).not.toBe(0);
    expect(await state()).toBe('active');
  });
});
