import { sql } from 'kysely';
import { beforeEach, describe, expect, inject, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { runDistribute } from '../../../src/operate/distribute.ts';
import { databaseForEach, inOwnDatabase } from '../../support/databases/migrated-database.ts';
import { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { createLoginRole } from '../../support/postgres/login-role.ts';
import { OPERATOR } from '../../support/mirror/operator.ts';

const database = databaseForEach();
let steps: string[];

/**
 * What `distribute` asks of Citus, for servers without it: what the command does and says. What Citus then does with the
 * tables is proven where there is one (test/citus).
 */
const STAND_IN = `
  set allow_system_table_mods = on;
  insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
    values (16000, 'citus', 10, 2200, false, '13.2-1');
  reset allow_system_table_mods;
  create table public.pg_dist_partition (logicalrelid regclass, beside text);
  create table public.pg_dist_node (nodename text, nodeport int, groupid int, noderole text, isactive bool, shouldhaveshards bool);
  insert into public.pg_dist_node values ('c', 1, 0, 'primary', true, false), ('w', 2, 1, 'primary', true, true);
  create table public.cleared (name text);
  create view public.citus_tables as select logicalrelid as table_name, 8::bigint as shard_count from public.pg_dist_partition;
  create function public.citus_is_coordinator() returns boolean language sql as 'select true';
  create function public.citus_check_cluster_node_health(out from_nodename text, out from_nodeport int, out to_nodename text,
    out to_nodeport int, out result bool) returns setof record language sql as $$ select 'c', 1, 'w', 2, true $$;
  create table public.ahead (by interval, lacks text);
  insert into public.ahead values ('0', '');
  create function public.run_command_on_workers(command text, out nodename text, out nodeport int, out success bool, out result text)
    returns setof record language plpgsql as $$
    begin
      nodename := 'w'; nodeport := 2; success := true;
      if command like '%clock_timestamp%' then
        select extract(epoch from clock_timestamp() + a.by) * 1000 into result from public.ahead a;
      else select (strpos(command, quote_literal(a.lacks)) = 0)::int::text into result from public.ahead a; end if;
      return next;
    end $$;
  create function public.create_distributed_table(name text, key text, colocate_with text, shard_count int default null)
    returns void language sql as 'insert into public.pg_dist_partition values (name::regclass, colocate_with)';
  create function public.truncate_local_data_after_distributing_table(name regclass) returns void language plpgsql as $$
    begin
      execute format('lock table only %s in access exclusive mode', name);
      insert into public.cleared values (name::text);
    end $$`;

const isPlain = inject('testServer').workers.length === 0;

beforeEach(async () => {
  if (!isPlain) return;
  await database.db.raw(STAND_IN);
  steps = [];
});

const distribute = (dryRun: boolean, { db }: Pick<typeof database, 'db'> = database) => {
  const { signal } = new AbortController();
  const onStep = (words: string): number => steps.push(words);
  return runDistribute({ db, clock: systemClock, signal, onStep, by: OPERATOR }, { dryRun, shards: 8 });
};

async function run<T>(text: string): Promise<T[]> {
  return (await sql<T>`${sql.raw(text)}`.execute(database.kysely)).rows;
}

const beside = 'select beside, count(*)::int as n from pg_dist_partition group by 1 order by 2';

describe.runIf(isPlain)('distribute, with a stand-in for Citus', () => {
  it('plans by a look, spreads each table of accounts beside account, and does it once', async () => {
    const account = await MirroredAccount.make(database, '7');
    await account.page('lists', '[{"list_id": 1}, {"list_id": 2}]');
    const plan = await distribute(true);
    const none = { version: '13.2-1', workers: ['w:2'], shards: 8, pauseMs: null, attempts: 0 };
    expect(plan).toMatchObject(none);
    expect(plan.tables[0]).toEqual({ name: 'mirror.account', rows: 0, outcome: 'would be distributed' });
    expect(plan.tables.find(({ name }) => name === 'mirror.lists')?.rows).toBe(2);
    const names = plan.tables.map(({ name }) => name);
    // A page writes slots beside rows: one that is left local breaks its commit over the nodes.
    const all = await run<{ name: string }>(`
      select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
        join pg_attribute a on a.attrelid = c.oid and a.attname = '_user_id'
        join pg_index i on i.indrelid = c.oid and i.indisprimary and a.attnum = any(i.indkey)
      where n.nspname in ('mirror', 'mirror_sync') and c.relkind = 'r'`);
    expect(names.toSorted()).toEqual(all.map(({ name }) => name).toSorted());
    expect(names).toContain('mirror_sync.slot_block');
    expect(await run(beside)).toEqual([]);

    const done = await distribute(false);
    expect(done.tables.map(({ name }) => name)).toEqual(names);
    expect(new Set(done.tables.map(({ outcome }) => outcome))).toEqual(new Set(['distributed']));
    expect(done).toMatchObject({ shards: 8, attempts: 1, leftOvers: [], missingLogins: [] });
    expect(done.pauseMs).toBeGreaterThan(0);
    expect(steps.slice(0, 2)).toEqual(['waiting for the daemon’s writes', 'distributing mirror.account']);
    expect(await run(beside)).toEqual([
      { beside: 'none', n: 1 },
      { beside: '"mirror".account', n: names.length - 1 },
    ]);
    expect(await run(`select 1 from cleared where name = 'mirror.lists'`)).toHaveLength(1);
    const acts = 'select _user_id, act, arguments, os_user from mirror.operator_log';
    const given = { tables: names.length, shards: 8 };
    expect(await run(acts)).toEqual([{ _user_id: '0', act: 'distribute', arguments: given, os_user: OPERATOR.osUser }]);

    steps = [];
    expect(await distribute(false)).toMatchObject({ attempts: 0 });
    expect(steps).toEqual([]);
    expect(await run(acts)).toHaveLength(1);
    expect((await distribute(true)).tables.every(({ outcome }) => outcome === 'there')).toBe(true);
  });

  it('names what keeps a table from it, and nodes whose clocks differ, and touches nothing', async () => {
    await run('create unique index theirs on mirror.lists (list_id)');
    await run('create unique index beside on mirror.lists (list_id) include (_user_id)');
    await expect(distribute(false)).rejects.toThrow(
      /mirror\.beside of mirror\.lists, mirror\.theirs of mirror\.lists; nothing was touched/,
    );
    for (const [by, words] of Object.entries({ '5 s': 'ahead', '-5 s': 'behind' })) {
      await run(`update ahead set by = '${by}'`);
      const differ = new RegExp(`w:2 is (5\\.0|4\\.9) s ${words}\\); nothing was touched.*NTP`);
      await expect(distribute(true)).rejects.toThrow(differ);
    }
    expect(await run(beside)).toEqual([]);
  });

  it('waits for the end of a long transaction first, while others write and wait for nobody', async () => {
    const account = await MirroredAccount.make(database, '7');
    await account.page('lists', '[{"list_id": 1}]');
    const distributing = await database.db.transaction(async (trx) => {
      await trx.raw('lock table mirror.lists in share update exclusive mode');
      await eventually('the transaction to be a long one', async () => {
        const { rows } = await trx.sql`select 1 where clock_timestamp() > now() + interval '1.1 s'`;
        return rows.length > 0;
      });
      const distributed = distribute(false);
      await eventually('distribute to see it', () => steps.length > 0);
      await account.page('lists', '[{"list_id": 2}]');
      return { distributed };
    });
    expect(steps[0]).toMatch(/^waiting for a long transaction: pid \d+ has mirror\.lists$/);
    expect(await distributing.distributed).toMatchObject({ attempts: 1, leftOvers: [] });
  });

  it('passes over a table that somebody reads for good, and names it', async () => {
    const account = await MirroredAccount.make(database, '7');
    await account.page('lists', '[{"list_id": 1}]');
    const { leftOvers, pauseMs } = await database.db.transaction(async (trx) => {
      await trx.sql`select 1 from mirror.lists`;
      return distribute(false);
    });
    expect(leftOvers).toEqual(['mirror.lists']);
    expect(pauseMs).toBeGreaterThanOrEqual(6_000);
    expect(steps.some((words) => /^waiting for session \d+ of/.test(words))).toBe(true);
    expect(await run(`select 1 from cleared where name = 'mirror_sync.scope'`)).toHaveLength(1);
  });

  it('says which login a worker lacks', async () => {
    const reader = await createLoginRole(database, ['mirror_reader']);
    try {
      await run(`update ahead set lacks = '${reader.name}'`);
      expect((await distribute(true)).missingLogins).toEqual([reader.name]);
    } finally {
      await reader.drop();
    }
  });

  it('says what the cluster lacks, with the remedy', async () => {
    await run(`update pg_dist_node set shouldhaveshards = false`);
    await expect(distribute(true)).rejects.toThrow(/no active node of the cluster takes shards.*citus_add_node/s);
    await run(`delete from pg_dist_node where groupid = 0`);
    await expect(distribute(true)).rejects.toThrow(/workers do not know this coordinator/);
  });
});

it('distribute refuses a database that a newer program has migrated, before it looks for Citus', () =>
  inOwnDatabase(async (own) => {
    const { db } = own;
    await db.sql`insert into ${db.stateTable('migration')} values ('9999_later', 'x', '2026-01-01Z', '0.2.0')`;
    await expect(distribute(false, own)).rejects.toThrow(
      /newer than this program: .* does not know the tables of 9999_later; nothing was touched\. Run distribute with the newest/,
    );
  }));
