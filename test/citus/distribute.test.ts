import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { runDistribute, type DistributeReport } from '../../src/app/distribute/run-distribute.ts';
import { programVersion } from '../../src/app/program-files.ts';
import type { Database } from '../../src/db/connection/database.ts';
import { migrate } from '../../src/db/migrations/run-migrations.ts';
import { makeCluster } from '../support/databases/distributed-database.ts';
import { MIGRATIONS, openTestDatabase } from '../support/databases/migrated-database.ts';
import { MirroredAccount } from '../support/mirror/mirrored-account.ts';
import { onEachNode } from '../support/postgres/postgres.ts';
import { createLoginRole } from '../support/postgres/login-role.ts';
import { createPlainMirror, type PlainMirror } from './plain-mirror.ts';

/** A worker would make the role on all nodes, and so would the other one at the same moment. */
const ALONE = 'set citus.enable_create_role_propagation = off';

let plain: PlainMirror;
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
  return runDistribute({ db: open.db, clock: systemClock, signal, onStep }, { dryRun, shards: 4 });
}

const distributed = async (): Promise<number> =>
  (await run<{ n: number }>('select count(*)::int as n from pg_dist_partition'))[0]?.n ?? 0;

function page(from: number, count: number, status = 'done'): string {
  return JSON.stringify(
    Array.from({ length: count }, (_, index) => ({ job_id: from + index, status, company_url: 'a.example' })),
  );
}

describe('distribute', () => {
  it('says what is missing where the database has no Citus, and touches nothing', async () => {
    await expect(distribute()).rejects.toThrow(/lacks the extension citus.*citus_add_node.*scaling\.md/s);
    expect(await run(`select 1 from pg_extension where extname = 'citus'`)).toEqual([]);
  });

  it('says how workers are added where there are none', async () => {
    await run('create extension citus');
    await expect(distribute()).rejects.toThrow(
      /workers do not know this coordinator.*citus_set_coordinator_host/s,
    );
  });

  it('loses nothing of what is written meanwhile, reads the same afterwards, and is done only once', async () => {
    const reader = await createLoginRole({ ...open, ...plain }, ['mirror_reader']);
    try {
      const account = await MirroredAccount.make({ ...open, ...plain }, '7');
      const other = await MirroredAccount.make({ ...open, ...plain }, '8');
      await account.page('research_jobs', page(1, 50, 'queued'));
      await account.page('research_jobs', page(1, 50));
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
      expect(again).toMatchObject({ pauseMs: null });
      expect(again.tables.every(({ outcome }) => outcome === 'there')).toBe(true);

      for (const view of ['freshness', 'changes', 'companies', 'credits_daily', 'data_quality', 'columns']) {
        await expect(reader.run(`select * from mirror.${view}`)).resolves.toBeDefined();
      }
      expect(await reader.run('select count(*)::int as n from mirror.research_jobs_live')).toEqual([
        { n: 50 + (pages + 1) * 10 },
      ]);
    } finally {
      await reader.drop();
      await onEachNode(inject('testServer').workers, `${ALONE}; drop role if exists ${reader.name}`);
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

  it('goes on where somebody has begun by hand', async () => {
    await makeCluster(plain.url, inject('testServer').workers);
    await run(`select create_distributed_table('mirror.account', '_user_id', shard_count => 4)`);
    const { tables } = await distribute();
    expect(tables.filter(({ outcome }) => outcome === 'there').map(({ name }) => name)).toEqual([
      'mirror.account',
    ]);
    expect(await run('select distinct colocationid from pg_dist_partition')).toHaveLength(1);
  });

  it('names what keeps a table from it, and touches nothing', async () => {
    await makeCluster(plain.url, inject('testServer').workers);
    await run('create unique index theirs on mirror.lists (list_id)');
    await run('create unique index beside on mirror.lists (list_id) include (_user_id)');
    await expect(distribute()).rejects.toThrow(
      /mirror\.beside of mirror\.lists, mirror\.theirs of mirror\.lists; nothing was touched/,
    );
    expect(await distributed()).toBe(0);
  });

  it('takes tables of later migrations along, and leaves those without accounts where they are', async () => {
    await makeCluster(plain.url, inject('testServer').workers);
    await distribute();
    const folder = await mkdtemp(join(tmpdir(), 'later-'));
    try {
      await cp(MIGRATIONS, folder, { recursive: true });
      await writeFile(
        join(folder, '9999_later.sql'),
        `-- oldest program: 0.2.0
        create table "{schema}_sync".later (_user_id bigint, n bigint, primary key (_user_id, n));
        create table "{schema}_sync".later_settings (n bigint primary key);`,
      );
      await migrate({ db: open.db, folder, version: programVersion(), clock: systemClock });
    } finally {
      await rm(folder, { recursive: true });
    }
    expect(
      await run(
        `select logicalrelid::text as name from pg_dist_partition where logicalrelid::text like '%later%'`,
      ),
    ).toEqual([{ name: 'mirror_sync.later' }]);
  });
});
