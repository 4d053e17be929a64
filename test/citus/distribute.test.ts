import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { runDistribute } from '../../src/operate/distribute.ts';
import { programVersion } from '../../src/config/program.ts';
import type { Database } from '../../src/postgres/pool.ts';
import { lockMigrations, migrate, MIGRATION_BOUNDS } from '../../src/postgres/run-migrations.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { COLLECTION_NAMES } from '../../src/model/collections.ts';
import { makeCluster } from '../support/databases/distributed-database.ts';
import { MIGRATIONS, migrateTo, openTestDatabase } from '../support/databases/migrated-database.ts';
import { MirroredAccount } from '../support/mirror/mirrored-account.ts';
import { onEachNode, type TestDatabase } from '../support/postgres/postgres.ts';
import { createLoginRole } from '../support/postgres/login-role.ts';
import { createPlainMirror, setClockAhead } from './worker-nodes.ts';
import { OPERATOR } from '../support/mirror/operator.ts';

/** A worker would make the role on all nodes, and so would the other one at the same moment. */
const ALONE = 'set citus.enable_create_role_propagation = off';

let plain: TestDatabase;
let open: Database;

beforeEach(async () => {
  plain = await createPlainMirror();
  open = await openTestDatabase(plain.url);
});
afterEach(async () => {
  await open.close();
  await plain.drop();
});

const run = async <Row>(text: string): Promise<Row[]> => (await open.db.sql<Row>`${sql.raw(text)}`).rows;

/** @param stopAt is told each step, and ends it there where it is true */
function distribute({ dryRun = false, stopAt = (words: string): boolean => words === '', db = open.db } = {}) {
  const stop = new AbortController();
  const onStep = (words: string): void => {
    if (stopAt(words)) stop.abort(new Error('stopped'));
  };
  const context = { db, clock: systemClock, signal: stop.signal, onStep, by: OPERATOR };
  return runDistribute(context, { dryRun, shards: 4 });
}

const workers = () => inject('testServer').workers;
/** The database becomes one of a cluster, and the mirror stays as it is. */
const joinCluster = () => makeCluster(plain.url, workers());
const accountOf = (userId: string) => MirroredAccount.make({ ...open, ...plain }, userId);
const distributed = () => run('select from pg_dist_partition');
/** Bytes that the table of jobs has beside its shards. */
const left = async () => (await run<{ n: number }>(`select pg_relation_size('mirror.research_jobs')::int as n`))[0]?.n;

function page(from: number, count: number, status = 'done'): string {
  return JSON.stringify(
    Array.from({ length: count }, (_, index) => ({ job_id: from + index, status, company_url: 'a.example' })),
  );
}

/** What somebody reads of account 7, by view and function: rows, or why there are none. */
async function readAll(reading: (text: string) => Promise<Record<string, unknown>[]>) {
  const kinds = ['', '_history', '_live', '_versions'];
  const views = COLLECTION_NAMES.flatMap((name) => kinds.map((kind) => `${name}${kind}`));
  const functions = COLLECTION_NAMES.map((name) => `${name}_as_of('2200-01-01Z')`);
  const ofAccount = ['changes', 'companies', 'credits_daily', 'data_quality', ...views, ...functions];
  const texts = [
    'collection, live_rows, state, last_error from mirror.freshness where _user_id = 7',
    '* from mirror.columns',
    ...ofAccount.map((name) => `* from mirror.${name} where _user_id = 7`),
  ];
  const found: Record<string, unknown> = {};
  for (const text of texts) {
    found[text] = await reading(`select ${text}`).then(
      (rows) => rows.map((row) => JSON.stringify(row)).toSorted(),
      String,
    );
  }
  return found;
}

describe('distribute', () => {
  it('says what is missing where the database has no Citus, and touches nothing', async () => {
    await expect(distribute()).rejects.toThrow(/lacks the extension citus.*citus_add_node.*scaling\.md/s);
    expect(await run(`select 1 from pg_extension where extname = 'citus'`)).toEqual([]);
  });

  it('loses nothing of what is written meanwhile, reads the same afterwards, and is done only once', async () => {
    const reader = await createLoginRole({ ...open, ...plain }, ['mirror_reader']);
    try {
      const account = await accountOf('7');
      const other = await accountOf('8');
      await account.page('research_jobs', page(1, 50, 'queued'));
      await account.page('research_jobs', page(1, 50));
      await run('alter view mirror.companies set (security_barrier = true)');
      const before = await readAll(run);
      expect(before['* from mirror.changes where _user_id = 7']).toHaveLength(100);
      await joinCluster();

      const looked = await distribute({ dryRun: true });
      expect(looked.tables.find(({ name }) => name === 'mirror.research_jobs')).toMatchObject({
        rows: 50,
        outcome: 'would be distributed',
      });
      expect(await distributed()).toEqual([]);

      const over = new AbortController();
      const writing = (async () => {
        let pages = 0;
        for (; !over.signal.aborted; pages += 1) await other.page('research_jobs', page(1 + pages * 10, 10));
        return pages;
      })();
      const done = await distribute().finally(() => over.abort());
      const pages = await writing;
      await other.page('research_jobs', page(1 + pages * 10, 10));

      expect(done.shards).toBe(4);
      expect(done.tables.every(({ outcome }) => outcome === 'distributed')).toBe(true);
      expect(done.leftOvers).toEqual([]);
      // A login from before Citus is named, and reads once an administrator has made it on the workers.
      expect(done.missingLogins).toEqual([reader.name]);
      await onEachNode(workers(), `${ALONE}; create role ${reader.name} login in role mirror_reader`);
      expect(await run('select _user_id, count(*)::int as n from mirror.research_jobs group by 1 order by 1')).toEqual([
        { _user_id: '7', n: 50 },
        { _user_id: '8', n: (pages + 1) * 10 },
      ]);
      // Nothing is left beside the shards, and each account is on one of them.
      expect(await left()).toBe(0);

      const again = await distribute();
      expect(again).toMatchObject({ pauseMs: null, attempts: 0 });
      expect(again.tables.every(({ outcome }) => outcome === 'there')).toBe(true);

      expect(await readAll((text) => reader.run(text))).toEqual(before);
      expect(await run(`select reloptions from pg_class where oid = 'mirror.companies'::regclass`)).toEqual([
        { reloptions: ['security_barrier=true'] },
      ]);
      expect(await reader.run('select count(*)::int as n from mirror.research_jobs_live')).toEqual([
        { n: 50 + (pages + 1) * 10 },
      ]);
    } finally {
      await reader.drop();
      await onEachNode(workers(), `${ALONE}; drop role if exists ${reader.name}`);
    }
  });

  it('has who may read the views alone refused by the nodes', async () => {
    const account = await accountOf('7');
    await account.page('research_jobs', page(1, 20));
    await joinCluster();
    await distribute();
    // Made now, it is on all nodes.
    const viewer = await createLoginRole({ ...open, ...plain }, []);
    try {
      await run(`grant usage on schema mirror to ${viewer.name}`);
      await run(`grant select on mirror.changes, mirror.companies to ${viewer.name}`);
      for (const view of ['changes', 'companies']) {
        expect(await run(`select 1 from mirror.${view} limit 1`)).toHaveLength(1);
        await expect(viewer.run(`select * from mirror.${view}`)).rejects.toThrow(/permission denied/);
      }
    } finally {
      await viewer.drop();
    }
  });

  it('is all or nothing: broken off in the middle it leaves a plain mirror, and is done by the next one', async () => {
    const account = await accountOf('7');
    await account.page('research_jobs', page(1, 20));
    await joinCluster();
    const brokenOff = distribute({ stopAt: (words) => words.includes('mirror.research_jobs') });
    await expect(brokenOff).rejects.toThrow('stopped');
    expect(await distributed()).toEqual([]);
    await account.page('research_jobs', page(21, 20));
    await distribute();
    expect(await run('select count(*)::int as n from mirror.research_jobs')).toEqual([{ n: 40 }]);
  });

  it('does what was left where it was broken off after its commit', async () => {
    const account = await accountOf('7');
    await account.page('research_jobs', page(1, 20));
    await joinCluster();
    const brokenOff = distribute({ stopAt: (words) => words.startsWith('committing') });
    await expect(brokenOff).rejects.toThrow('stopped');
    expect(await distributed()).not.toEqual([]);
    expect(await left()).toBeGreaterThan(0);
    const { pauseMs, attempts, leftOvers } = await distribute();
    expect([attempts, leftOvers, await left()]).toEqual([0, [], 0]);
    // What waited for the rows to go.
    expect(pauseMs).toBeGreaterThan(0);
    expect(await run('select count(*)::int as n from mirror.changes')).toEqual([{ n: 20 }]);
  });

  it('is done once where two begin at the same moment, and each says what it did itself', async () => {
    await joinCluster();
    const both = await Promise.all([distribute(), distribute()]);
    const outcomes = both.map(({ tables }) => [...new Set(tables.map(({ outcome }) => outcome))].join());
    expect(outcomes.toSorted()).toEqual(['distributed', 'there']);
    expect(both.filter(({ attempts }) => attempts === 1)).toHaveLength(1);
  });

  it('takes tables of later migrations along; those without accounts, and somebody’s own, stay where they are', async () => {
    await run('create table mirror.tags (_user_id int primary key, label text)');
    await run('create table mirror.own_lists (_user_id bigint primary key, list_id bigint unique)');
    await joinCluster();
    await distribute();
    await migrateFurther(`
      alter table "{schema}_sync".scope add column later bigint not null default 0;
      create table "{schema}_sync".later (_user_id bigint, n bigint, primary key (_user_id, n));
      create table "{schema}_sync".later_settings (n bigint primary key)`);
    expect(
      await run(`select logicalrelid::text as name from pg_dist_partition
        where logicalrelid::text ~ 'later|tags|own_lists'`),
    ).toEqual([{ name: 'mirror_sync.later' }]);
    expect(await run('select later from mirror_sync.scope')).toEqual([]);
  });

  it('refuses nodes whose clocks differ, and touches nothing', async () => {
    const [, worker = ''] = workers();
    await joinCluster();
    const { pathname } = new URL(plain.url);
    const there = Object.assign(new URL(worker), { pathname });
    await setClockAhead(there.href);
    await expect(distribute()).rejects.toThrow(
      new RegExp(`${there.host} is 5\\.0 s ahead\\); nothing was touched.*NTP`, 's'),
    );
    expect(await distributed()).toEqual([]);
  });

  it('refuses it, too, where that happens while distribute waits for its turn', async () => {
    await joinCluster();
    const newer = await openTestDatabase(plain.url);
    try {
      const distributing = Promise.withResolvers<unknown>();
      await newer.db.transaction(async (trx) => {
        await lockMigrations(trx);
        distribute().then(distributing.resolve, distributing.resolve);
        await eventually('distribute to wait', async () => {
          const { rows } = await trx.sql`select from pg_locks where locktype = 'advisory' and not granted`;
          return rows.length > 0;
        });
        await trx.sql`insert into mirror_sync.migration values ('9999_later', 'x', now(), '0.2.0')`;
      });
      expect(String(await distributing.promise)).toContain('does not know the tables of 9999_later');
      expect(await distributed()).toEqual([]);
    } finally {
      await newer.close();
    }
  });

  it('goes on where somebody has begun by hand', async () => {
    await joinCluster();
    await run(`select create_distributed_table('mirror.account', '_user_id', shard_count => 4)`);
    const { tables } = await distribute();
    expect(tables.filter(({ outcome }) => outcome === 'there').map(({ name }) => name)).toEqual(['mirror.account']);
    expect(await run('select distinct colocationid from pg_dist_partition')).toHaveLength(1);
  });

  it('of an older version is brought to this one where it is distributed', async () => {
    const older = await createPlainMirror((url) =>
      migrateWith(url, (name) => name < '0024' || name.startsWith('0035')),
    );
    const opened = await openTestDatabase(older.url);
    try {
      await makeCluster(older.url, workers());
      await distribute({ db: opened.db });
      const account = await MirroredAccount.make({ ...opened, ...older }, '7');
      await migrateTo(older.url, 'mirror');
      await account.page('research_jobs', page(1, 20));
      const { rows } = await opened.db.sql`select changes, cost from mirror_sync.scope`;
      expect(rows).toEqual([{ changes: 0, cost: 1 }]);
    } finally {
      await opened.close();
      await older.drop();
    }
  });
});

/** Migrates as a later version of the program would, with one migration more. */
async function migrateFurther(statements: string): Promise<void> {
  await migrateWith(plain.url, () => true, `-- oldest program: 0.2.0\n${statements};`);
}

async function migrateWith(url: string, wanted: (file: string) => boolean, later?: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'later-'));
  const opened = await openTestDatabase(url, { bounds: MIGRATION_BOUNDS });
  try {
    await cp(MIGRATIONS, folder, {
      recursive: true,
      filter: (path) => path === MIGRATIONS || wanted(basename(path)),
    });
    if (later !== undefined) await writeFile(join(folder, '9999_later.sql'), later);
    await migrate({ db: opened.db, folder, version: programVersion(), clock: systemClock });
  } finally {
    await opened.close();
    await rm(folder, { recursive: true });
  }
}
