import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../../src/postgres/pool.ts';
import { currentHold, releaseSubmissions } from '../../../../src/postgres/hold.ts';
import type { InstallationOptions } from '../../../../src/postgres/installation.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { migrateTo } from '../../../support/databases/migrated-database.ts';
import { createTestDatabase, serverUrl, type TestDatabase } from '../../../support/postgres/postgres.ts';
import { ask } from '../../../support/postgres/on-connection.ts';
import { installed } from '../../../support/databases/installed.ts';
import { OPERATOR } from '../../../support/mirror/operator.ts';

const scene = installed();
const { alsoOpen, run, open, queue, states, storeOf, opened } = scene;

describe('a database that was here before', () => {
  it('is not on hold after a restart, a second process, or many that begin together', async () => {
    expect(await open()).toBeUndefined();
    await queue();
    await run(
      `insert into mirror_sync.own_url (_user_id, url, registered_at) values (7, 'https://x', now())`,
    );
    const again = [open(), open(), open(await opened(scene.database.url))];
    expect(await Promise.all(again)).toEqual([undefined, undefined, undefined]);
    expect(await states()).toEqual(['queued']);
  });

  it('is not on hold at its first start, even by many processes at once', async () => {
    expect(await Promise.all([open(), open(), open()])).toEqual([undefined, undefined, undefined]);
  });

  it('tells submit() what the configuration says, and keeps other settings', async () => {
    await run(`insert into mirror_sync.installation (created_at, settings) values (now(), '{"other": 1}')`);
    await open(scene.database, { submit: { enabled: false, maxQueued: 3 } });
    expect(await run('select settings from mirror_sync.installation')).toEqual([
      { settings: { other: 1, submit: { enabled: false, maxQueued: 3 } } },
    ]);
    await expect(queue()).rejects.toThrow('MIRROR_SUBMIT=off');
  });

  it('is known to a user that may not read the cluster’s identity', async () => {
    await open();
    await queue();
    await run(`revoke execute on function pg_control_system(), pg_current_wal_lsn() from public;
      create role test_meagre login password 'meagre';
      grant usage on schema mirror, mirror_sync to test_meagre;
      grant all on all tables in schema mirror, mirror_sync to test_meagre`);
    try {
      const url = new URL(scene.database.url);
      url.username = 'test_meagre';
      url.password = 'meagre';
      const meagre = await opened(url.href);
      expect(await open(meagre)).toBeUndefined();
      const [row] = await run('select fingerprint from mirror_sync.installation');
      const text = expect.any(String) as string;
      expect(row).toMatchObject({ fingerprint: { system: text, timeline: text, directory: text } });
    } finally {
      for (const each of alsoOpen.splice(0)) await each.close();
      await run('drop owned by test_meagre; drop role test_meagre');
    }
  });
});

describe('a copy', () => {
  const copies: TestDatabase[] = [];
  afterEach(async () => {
    for (const each of alsoOpen.splice(0)) await each.close();
    for (const each of copies.splice(0)) await each.drop();
  });

  /** `create database … template`: no other session may be connected to the template. */
  async function template(): Promise<Database> {
    await scene.database.close();
    const name = `${new URL(scene.database.url).pathname.slice(1)}_copy`;
    const server = await serverUrl();
    await ask(server, `create database ${name} template ${name.replace('_copy', '')}`);
    const url = new URL(scene.database.url);
    url.pathname = `/${name}`;
    const drop = async (): Promise<void> => void (await ask(server, `drop database ${name} with (force)`));
    copies.push({ url: url.href, drop });
    Object.assign(scene.database, await opened(scene.database.url));
    return opened(url.href);
  }

  const STATE = ['account', 'installation', 'own_url', 'process'].map((name) => `mirror_sync.${name}`);
  const DUMPED = [...STATE, 'mirror.submissions'];

  async function dump(): Promise<ReadonlyMap<string, unknown>> {
    const dumped = new Map<string, unknown>();
    for (const table of DUMPED) {
      const rows = await run(`select coalesce(jsonb_agg(t), '[]')::text as json from ${table} t`);
      dumped.set(table, rows[0]?.['json']);
    }
    return dumped;
  }

  /** Like pg_restore: the same rows in new tables, and the sequence where it was. */
  async function restore(dumped: ReadonlyMap<string, unknown>, url: string): Promise<Database> {
    await migrateTo(url, 'mirror');
    const there = await opened(url);
    for (const [table, json] of dumped) {
      await there.db.sql`insert into ${sql.raw(table)} overriding system value
        select * from jsonb_populate_recordset(null::${sql.raw(table)}, ${json}::text::jsonb)`;
    }
    await run(`select setval(pg_get_serial_sequence('mirror.submissions', 'submission_id'), 1000)`, there);
    return there;
  }

  async function restored(): Promise<Database> {
    const made = await createTestDatabase();
    copies.push(made);
    return restore(await dump(), made.url);
  }

  it.each([
    ['made from a template', template, 'it is another database'],
    ['restored from a dump', restored, 'it is another database'],
  ] as const)('%s sends nothing until it is released', async (_how, copy, why) => {
    await open();
    await queue(7);
    await queue(8);
    const there = await copy();
    const hold = await open(there);
    expect(hold?.why).toMatch(why);
    expect(await states(there)).toEqual(['held', 'held']);
    // Later submissions can't have been sent before: they are sent.
    await queue(7, there);
    expect(await open(there)).toEqual(hold);
    expect(await states(there)).toEqual(['held', 'held', 'queued']);
    await run(`update mirror_sync.account set owner = 'owner', token = 1`, there);
    const [late] = await storeOf(7, there).queued(10);
    expect(await storeOf(7, there).claim(late?.id ?? '')).toBeDefined();

    expect(await releaseSubmissions(there.db, OPERATOR)).toBe(2);
    expect(await currentHold(there.db)).toBeUndefined();
    expect(await open(there)).toBeUndefined();
    const [first] = await storeOf(7, there).queued(10);
    expect(await storeOf(7, there).claim(first?.id ?? '')).toBeDefined();

    expect(await open()).toBeUndefined();
    expect(await states()).toEqual(['queued', 'queued']);
  });

  it('restored in place of its original is on hold as well', async () => {
    await open(scene.database, { host: 'before.example' });
    await queue();
    const dumped = await dump();
    await run('drop schema mirror, mirror_sync cascade');
    const there = await restore(dumped, scene.database.url);
    expect((await open(there, { host: 'after.example' }))?.why).toMatch(/: its tables were restored$/);
    expect(await states(there)).toEqual(['held']);
    // What was known of the other one does not count for it.
    expect(await run(`select fingerprint -> 'hosts' as hosts from mirror_sync.installation`, there)).toEqual([
      { hosts: ['after.example'] },
    ]);
  });

  it('of an installation whose webhook is registered takes nothing over', async () => {
    await open();
    await run(
      `insert into mirror_sync.own_url (_user_id, url, registered_at) values (7, 'https://x', now())`,
    );
    expect(await open(await restored())).toBeDefined();
  });

  it('without its state is on hold as well', async () => {
    await open();
    await queue();
    const there = await restored();
    await run('delete from mirror_sync.installation', there);
    expect((await open(there))?.why).toMatch(/before any daemon had seen this database/);
  });
});

describe('a database at another host', () => {
  const AT = (host: string): Partial<InstallationOptions> => ({ host });
  /** Stores a process. One that began before the last sign of life is an earlier process. */
  const putProcess = (id: string, began: string): Promise<unknown> =>
    run(`insert into mirror_sync.process (process_id, command, version, host, machine, pid, started_ticks, started_at, alive_until)
      values ('${id}', 'start', '0', 'h', 'm', 1, '1', now() + interval '${began}', now() + interval '12 s')`);
  const waits: number[] = [];
  /** A clock without waits. The process has a heartbeat after four seconds. */
  const clock = (processId: string | undefined): InstallationOptions['clock'] => ({
    ...systemClock,
    sleep: async (ms) => {
      waits.push(ms);
      const beat = `update mirror_sync.process set alive_until = now() + interval '16 s'`;
      if (waits.length === 4) await run(`${beat} where process_id = '${processId ?? ''}'`);
    },
  });
  beforeEach(async () => {
    waits.length = 0;
    await open(scene.database, AT('db.example'));
    await queue();
  });

  it('is on hold: a branch of a managed service differs in nothing else', async () => {
    const hold = await open(scene.database, { ...AT('branch.example'), clock: clock(undefined) });
    expect(hold?.why).toMatch(/another host than before \(branch\.example\)/);
    expect(waits).toEqual([]);
    await releaseSubmissions(scene.database.db, OPERATOR);
    expect(await open(scene.database, AT('branch.example'))).toBeUndefined();
    expect(await open(scene.database, AT('db.example'))).toBeUndefined();
  });

  it('is the same if an earlier process still writes heartbeats', async () => {
    await putProcess('elder', '-1 h');
    expect(await open(scene.database, { ...AT('10.0.0.7'), clock: clock('elder') })).toBeUndefined();
    expect(waits).toHaveLength(4);
    // From now on without a look.
    expect(await open(scene.database, { ...AT('10.0.0.7'), clock: clock(undefined) })).toBeUndefined();
    expect(waits).toHaveLength(4);
  });

  it('is on hold if rows of processes were copied, and only later processes write heartbeats', async () => {
    await putProcess('elder', '-1 h');
    await putProcess('newcomer', '1 s');
    expect(await open(scene.database, { ...AT('branch.example'), clock: clock('newcomer') })).toBeDefined();
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBe(13_000);
  });
});
