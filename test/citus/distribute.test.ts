import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { runDistribute, type DistributeReport } from '../../src/operate/distribute.ts';
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
import { createPlainMirror } from './plain-mirror.ts';
import { setClockAhead } from './worker-nodes.ts';
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

async function distribute(
  more: {
    readonly dryRun?: boolean;
    readonly onStep?: (words: string) => void;
    readonly signal?: AbortSignal;
  } = {},
): Promise<DistributeReport> {
  const { dryRun = false, onStep = () => {}, signal = new AbortController().signal } = more;
  return runDistribute(
    { db: open.db, clock: systemClock, signal, onStep, by: OPERATOR },
    { dryRun, shards: 4 },
  );
}

const distributed = async (): Promise<number> =>
  (await run<{ n: number }>('select count(*)::int as n from pg_dist_partition'))[0]?.n ?? 0;

function page(from: number, count: number, status = 'done'): string {
  return JSON.stringify(
    Array.from({ length: count }, (_, index) => ({ job_id: from + index, status, company_url: 'a.example' })),
  );
}

/** What somebody reads of account 7, by view and function: rows, or why there are none. */
async function readAll(
  reading: (text: string) => Promise<Record<string, unknown>[]>,
): Promise<Record<string, unknown>> {
  const tables = COLLECTION_NAMES;
  const views = [
    'changes',
    'companies',
    'credits_daily',
    'data_quality',
    ...tables.flatMap((table) => [table, `${table}_history`, `${table}_live`, `${table}_versions`]),
  ];
  const texts = {
    freshness: 'select collection, live_rows, state, last_error from mirror.freshness where _user_id = 7',
    columns: 'select * from mirror.columns',
    ...Object.fromEntries(views.map((name) => [name, `select * from mirror.${name} where _user_id = 7`])),
    ...Object.fromEntries(
      tables.map((name) => [
        `${name}_as_of`,
        `select * from mirror.${name}_as_of('2200-01-01Z') where _user_id = 7`,
      ]),
    ),
  };
  const found: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(texts)) {
    found[name] = await reading(text).then(
      (rows) => rows.map((row) => JSON.stringify(row)).toSorted(),
      (error: unknown) => String(error),
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
      const account = await MirroredAccount.make({ ...open, ...plain }, '7');
      const other = await MirroredAccount.make({ ...open, ...plain }, '8');
      await account.page('research_jobs', page(1, 50, 'queued'));
      await account.page('research_jobs', page(1, 50));
      await run('alter view mirror.companies set (security_barrier = true)');
      const before = await readAll(run);
      expect(before['changes']).toHaveLength(100);
      await makeCluster(plain.url, inject('testServer').workers);

      const looked = await distribute({ dryRun: true });
      expect(looked.tables.find(({ name }) => name === 'mirror.research_jobs')).toMatchObject({
        rows: 50,
        outcome: 'would be distributed',
      });
      expect(await distributed()).toBe(0);

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
      await onEachNode(
        inject('testServer').workers,
        `${ALONE}; create role ${reader.name} login in role mirror_reader`,
      );
      expect(
        await run('select _user_id, count(*)::int as n from mirror.research_jobs group by 1 order by 1'),
      ).toEqual([
        { _user_id: '7', n: 50 },
        { _user_id: '8', n: (pages + 1) * 10 },
      ]);
      // Nothing is left beside the shards, and each account is on one of them.
      expect(await run(`select pg_relation_size('mirror.research_jobs')::int as n`)).toEqual([{ n: 0 }]);

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
      await onEachNode(inject('testServer').workers, `${ALONE}; drop role if exists ${reader.name}`);
    }
  });

  it('has who may read the views alone refused by the nodes', async () => {
    const account = await MirroredAccount.make({ ...open, ...plain }, '7');
    await account.page('research_jobs', page(1, 20));
    await makeCluster(plain.url, inject('testServer').workers);
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
    const account = await MirroredAccount.make({ ...open, ...plain }, '7');
    await account.page('research_jobs', page(1, 20));
    await makeCluster(plain.url, inject('testServer').workers);
    const stop = new AbortController();
    const brokenOff = distribute({
      signal: stop.signal,
      onStep: (words) => {
        if (words.includes('mirror.research_jobs')) stop.abort(new Error('stopped'));
      },
    });
    await expect(brokenOff).rejects.toThrow('stopped');
    expect(await distributed()).toBe(0);
    await account.page('research_jobs', page(21, 20));
    await distribute();
    expect(await run('select count(*)::int as n from mirror.research_jobs')).toEqual([{ n: 40 }]);
  });

  it('does what was left where it was broken off after its commit', async () => {
    const account = await MirroredAccount.make({ ...open, ...plain }, '7');
    await account.page('research_jobs', page(1, 20));
    await makeCluster(plain.url, inject('testServer').workers);
    const stop = new AbortController();
    const onStep = (words: string): void => {
      if (words.startsWith('committing')) stop.abort(new Error('stopped'));
    };
    await expect(distribute({ signal: stop.signal, onStep })).rejects.toThrow('stopped');
    expect(await distributed()).toBeGreaterThan(0);
    const left = async (): Promise<unknown> =>
      (await run<{ n: number }>(`select pg_relation_size('mirror.research_jobs')::int as n`))[0]?.n;
    expect(await left()).toBeGreaterThan(0);
    const { pauseMs, attempts, leftOvers } = await distribute();
    expect([attempts, leftOvers, await left()]).toEqual([0, [], 0]);
    // What waited for the rows to go.
    expect(pauseMs).toBeGreaterThan(0);
    expect(await run('select count(*)::int as n from mirror.changes')).toEqual([{ n: 20 }]);
  });

  it('is done once where two begin at the same moment, and each says what it did itself', async () => {
    await makeCluster(plain.url, inject('testServer').workers);
    const both = await Promise.all([distribute(), distribute()]);
    const outcomes = both.map(({ tables }) => [...new Set(tables.map(({ outcome }) => outcome))].join());
    expect(outcomes.toSorted()).toEqual(['distributed', 'there']);
    expect(both.filter(({ attempts }) => attempts === 1)).toHaveLength(1);
  });

  it('leaves somebody’s own tables where they are, and so does a later migration', async () => {
    await run('create table mirror.tags (_user_id int primary key, label text)');
    await run('create table mirror.own_lists (_user_id bigint primary key, list_id bigint unique)');
    await makeCluster(plain.url, inject('testServer').workers);
    await distribute();
    expect(await run(`select 1 from pg_dist_partition where logicalrelid::text ~ 'tags|own_lists'`)).toEqual(
      [],
    );
    await migrateFurther(`alter table "{schema}_sync".scope add column later bigint not null default 0`);
    expect(await run('select later from mirror_sync.scope')).toEqual([]);
  });

  it('refuses nodes whose clocks differ, and touches nothing', async () => {
    const [, worker = ''] = inject('testServer').workers;
    await makeCluster(plain.url, inject('testServer').workers);
    const there = new URL(worker);
    there.pathname = new URL(plain.url).pathname;
    await setClockAhead(there.href);
    await expect(distribute()).rejects.toThrow(
      new RegExp(`${there.host} is 5\\.0 s ahead\\); nothing was touched.*NTP`, 's'),
    );
    expect(await distributed()).toBe(0);
  });

  it('refuses it, too, where that happens while distribute waits for its turn', async () => {
    await makeCluster(plain.url, inject('testServer').workers);
    const newer = await openTestDatabase(plain.url);
    try {
      const distributing = Promise.withResolvers<unknown>();
      await newer.db.transaction(async (trx) => {
        await lockMigrations(trx);
        distribute().then(distributing.resolve, distributing.resolve);
        await eventually('distribute to wait', async () => {
          const waiting = `select 1 from pg_locks where locktype = 'advisory' and not granted`;
          return (await trx.sql`${sql.raw(waiting)}`).rows.length > 0;
        });
        await trx.sql`insert into mirror_sync.migration values ('9999_later', 'x', now(), '0.2.0')`;
      });
      expect(String(await distributing.promise)).toContain('does not know the tables of 9999_later');
      expect(await distributed()).toBe(0);
    } finally {
      await newer.close();
    }
  });

  it('goes on where somebody has begun by hand', async () => {
    await makeCluster(plain.url, inject('testServer').workers);
    await run(`select create_distributed_table('mirror.account', '_user_id', shard_count => 4)`);
    const { tables } = await distribute();
    expect(tables.filter(({ outcome }) => outcome === 'there').map(({ name }) => name)).toEqual([
      'mirror.account',
    ]);
    expect(await run('select distinct colocationid from pg_dist_partition')).toHaveLength(1);
  });

  it('takes tables of later migrations along, and leaves those without accounts where they are', async () => {
    await makeCluster(plain.url, inject('testServer').workers);
    await distribute();
    await migrateFurther(`
      create table "{schema}_sync".later (_user_id bigint, n bigint, primary key (_user_id, n));
      create table "{schema}_sync".later_settings (n bigint primary key)`);
    expect(
      await run(
        `select logicalrelid::text as name from pg_dist_partition where logicalrelid::text like '%later%'`,
      ),
    ).toEqual([{ name: 'mirror_sync.later' }]);
  });

  it('of an older version is brought to this one where it is distributed', async () => {
    const older = await createPlainMirror((url) =>
      migrateWith(url, (name) => name < '0024' || name.startsWith('0035')),
    );
    const opened = await openTestDatabase(older.url);
    try {
      await makeCluster(older.url, inject('testServer').workers);
      await runDistribute(
        {
          db: opened.db,
          clock: systemClock,
          signal: new AbortController().signal,
          onStep: () => {},
          by: OPERATOR,
        },
        { dryRun: false, shards: 4 },
      );
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
