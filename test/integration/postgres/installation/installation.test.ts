import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../../src/postgres/pool.ts';
import { currentHold, releaseSubmissions } from '../../../../src/postgres/hold.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { migrateTo } from '../../../support/databases/migrated-database.ts';
import { createTestDatabase, serverUrl, type TestDatabase } from '../../../support/postgres/postgres.ts';
import { ask } from '../../../support/postgres/on-connection.ts';
import { installed } from '../../../support/databases/installed.ts';
import { OPERATOR } from '../../../support/mirror/operator.ts';

const scene = installed();
const { run, open, queue, states, storeOf, opened, closeOthers } = scene;
const registerUrl = () =>
  run(`insert into mirror_sync.own_url (_user_id, url, registered_at) values (7, 'https://x', now())`);

describe('a database that was here before', () => {
  it('is not on hold at its first start, after a restart, a second process, or many that begin together', async () => {
    const nowhere = [undefined, undefined, undefined];
    expect(await Promise.all([open(), open(), open()])).toEqual(nowhere);
    await queue();
    await registerUrl();
    expect(await Promise.all([open(), open(), open(await opened(scene.database.url))])).toEqual(nowhere);
    expect(await states()).toEqual(['queued']);
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
      const login = { username: 'test_meagre', password: 'meagre' };
      const { href } = Object.assign(new URL(scene.database.url), login);
      expect(await open(await opened(href))).toBeUndefined();
      const [row] = await run('select fingerprint from mirror_sync.installation');
      const text = expect.any(String) as string;
      expect(row).toMatchObject({ fingerprint: { system: text, timeline: text, directory: text } });
    } finally {
      await closeOthers();
      await run('drop owned by test_meagre; drop role test_meagre');
    }
  });
});

describe('a copy', () => {
  const copies: TestDatabase[] = [];
  afterEach(async () => {
    await closeOthers();
    for (const each of copies.splice(0)) await each.drop();
  });

  /** `create database … template`: no other session may be connected to the template. */
  async function template(): Promise<Database> {
    await scene.database.close();
    const name = new URL(scene.database.url).pathname.slice(1);
    const server = await serverUrl();
    await ask(server, `create database ${name}_copy template ${name}`);
    const { href } = Object.assign(new URL(scene.database.url), { pathname: `/${name}_copy` });
    const drop = async () => void (await ask(server, `drop database ${name}_copy with (force)`));
    copies.push({ url: href, drop });
    Object.assign(scene.database, await opened(scene.database.url));
    return opened(href);
  }

  async function dump(): Promise<ReadonlyMap<string, unknown>> {
    const dumped = new Map<string, unknown>();
    const state = ['account', 'installation', 'own_url', 'process'].map((name) => `mirror_sync.${name}`);
    for (const table of [...state, 'mirror.submissions']) {
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
    ['made from a template', template],
    ['restored from a dump', restored],
  ])('%s sends nothing until it is released', async (_, copy) => {
    await open();
    await queue(7);
    await queue(8);
    const there = await copy();
    const hold = await open(there);
    expect(hold?.why).toMatch('it is another database');
    expect(await states(there)).toEqual(['held', 'held']);
    // Later submissions can't have been sent before: they are sent.
    await queue(7, there);
    expect(await open(there)).toEqual(hold);
    expect(await states(there)).toEqual(['held', 'held', 'queued']);
    await run(`update mirror_sync.account set owner = 'owner', token = 1`, there);
    const store = storeOf(7, there);
    const claimFirst = async () => store.claim((await store.queued(10))[0]?.id ?? '');
    expect(await claimFirst()).toBeDefined();

    expect(await releaseSubmissions(there.db, OPERATOR)).toBe(2);
    expect(await currentHold(there.db)).toBeUndefined();
    expect(await open(there)).toBeUndefined();
    expect(await claimFirst()).toBeDefined();

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
    await registerUrl();
    expect(await open(await restored())).toBeDefined();
  });

  it('without its state is on hold as well', async () => {
    await open();
    await queue();
    const there = await restored();
    await run('delete from mirror_sync.installation', there);
    expect((await open(there))?.why).toMatch(/before any daemon saw this database/);
  });
});

describe('a database at another host', () => {
  /** Stores a process. One that began before the last sign of life is an earlier process. */
  const putProcess = (id: string, began: string) =>
    run(`insert into mirror_sync.process (process_id, command, version, host, machine, pid, started_ticks, started_at, alive_until)
      values ('${id}', 'start', '0', 'h', 'm', 1, '1', now() + interval '${began}', now() + interval '12 s')`);
  const waits: number[] = [];
  /** Opens it by a clock without waits. The process `beating` has a heartbeat after four seconds. */
  const openAt = (host: string, beating = '') => {
    const sleep = async (ms: number): Promise<void> => {
      waits.push(ms);
      const beat = `update mirror_sync.process set alive_until = now() + interval '16 s'`;
      if (waits.length === 4) await run(`${beat} where process_id = '${beating}'`);
    };
    return open(scene.database, { host, clock: { ...systemClock, sleep } });
  };
  beforeEach(async () => {
    waits.length = 0;
    await openAt('db.example');
    await queue();
  });

  it('is on hold: a branch of a managed service differs in nothing else', async () => {
    expect((await openAt('branch.example'))?.why).toMatch(/another host than before \(branch\.example\)/);
    expect(waits).toEqual([]);
    await releaseSubmissions(scene.database.db, OPERATOR);
    expect([await openAt('branch.example'), await openAt('db.example')]).toEqual([undefined, undefined]);
  });

  it('is the same if an earlier process still writes heartbeats', async () => {
    await putProcess('elder', '-1 h');
    expect(await openAt('10.0.0.7', 'elder')).toBeUndefined();
    expect(waits).toHaveLength(4);
    // From now on without a look.
    expect(await openAt('10.0.0.7')).toBeUndefined();
    expect(waits).toHaveLength(4);
  });

  it('is on hold if rows of processes were copied, and only later processes write heartbeats', async () => {
    await putProcess('elder', '-1 h');
    await putProcess('newcomer', '1 s');
    expect(await openAt('branch.example', 'newcomer')).toBeDefined();
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBe(13_000);
  });
});
