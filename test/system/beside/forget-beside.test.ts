import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createSystem, type System } from '../../support/processes/system.ts';

let system: System;
afterEach(() => system.close());

describe('forget', () => {
  it('beside a running daemon takes rows out for good: no poll, full walk or retry brings them back', async () => {
    system = await createSystem();
    const daemon = await system.daemon();
    await eventually('the first load', async () =>
      system.one<boolean>(`select count(*) = 6 from mirror.freshness where complete_as_of is not null`),
    );
    const job = await system.one<string>('select max(job_id)::text from mirror.research_jobs');
    const listId = await system.one<string>('select min(list_id)::text from mirror.lists');
    const item = await system.one<string>(
      `select min(list_id || ':' || id) from mirror.list_items where list_id <> ${listId}`,
    );

    expect(await system.run(['forget', 'research_jobs', job])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('add --yes') as string,
    });
    expect(await system.run(['forget', 'research_jobs', job, '--dry-run'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/1 row, \d versions?, 0 events, .* would be erased/) as string,
    });
    for (const [table, key] of [
      ['research_jobs', job],
      ['lists', listId],
      ['list_items', item],
    ] as const) {
      expect(await system.run(['forget', table, key, '--yes'])).toMatchObject({ code: 0 });
    }
    const forgotten = await system.run(['forget', '--list', '--json']);
    expect(JSON.parse(forgotten.stdout)).toMatchObject({
      rows: [{ collection: 'list_items' }, { collection: 'lists' }, {}],
    });
    // The daemon opens the account again, and reads it for the command.
    await system.sync(['--full']);
    const verified = await system.run(['verify', '--json']);
    expect(verified.code).toBe(0);
    const counts = (
      JSON.parse(verified.stdout) as { collections: { collection: string; forgotten: number }[] }
    ).collections;
    expect(
      counts.map(({ collection, forgotten }) => [collection, forgotten]).filter(([, count]) => count !== 0),
    ).toEqual([
      ['research_jobs', 1],
      ['lists', 1],
      ['list_items', 21],
    ]);
    expect((await system.run(['verify'])).stdout).toMatch(/forgotten/);
    expect(
      await system.one(`select (select count(*) from mirror.research_jobs where job_id = ${job})
        + (select count(*) from mirror.lists where list_id = ${listId})
        + (select count(*) from mirror.list_items where list_id = ${listId} or list_id || ':' || id = '${item}')`),
    ).toBe('0');
    expect(await system.run(['status'])).toMatchObject({ code: 0 });

    expect(await system.run(['forget', 'lists', listId, '--undo'])).toMatchObject({ code: 0 });
    await system.sync(['--full']);
    expect(await system.one(`select count(*)::int from mirror.list_items where list_id = ${listId}`)).toBe(
      20,
    );
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });

  it('says what is wrong with how it is used', async () => {
    system = await createSystem();
    await system.sync(['research_jobs']);
    const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
      [[], 2, /forget what\?/],
      [['research_job', '1'], 2, /no table "research_job" \(did you mean research_jobs\?\)/],
      [['account', '1'], 2, /accounts retire USER_ID --remove-data/],
      [['research_jobs'], 2, /which rows\?/],
      [['research_jobs', 'x'], 2, /"x" is no key/],
      [['list_items', '7'], 2, /the list and the item, as in 7:abc/],
      [['research_jobs', '1', '--undo', '--yes'], 2, /has no option --yes/],
      [['research_jobs', '1', '--user', 'me'], 2, /no user_id/],
      [['research_jobs', '1', '--user', '5', '--yes'], 1, /there is no account 5/],
    ];
    for (const [args, code, message] of cases) {
      expect(await system.run(['forget', ...args]), `forget ${args.join(' ')}`).toMatchObject({
        code,
        stdout: '',
        stderr: expect.stringMatching(message) as string,
      });
    }
    expect(await system.run(['forget', 'research_jobs', '987654321', '--yes'])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('nothing of it is here; nothing is recorded') as string,
    });
  });
});
