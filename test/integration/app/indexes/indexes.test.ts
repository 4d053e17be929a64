import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createIndexes,
  dropIndexes,
  type IndexContext,
  keepIndexes,
  listIndexes,
} from '../../../../src/app/indexes/index-work.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import {
  createMigratedDatabase,
  type MigratedDatabase,
} from '../../../support/databases/migrated-database.ts';
import { isPgbouncerTested, startPgbouncer } from '../../../support/databases/pgbouncer.ts';
import { explained } from '../../../support/mirror/explained.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';

let own: MigratedDatabase;
let account: MirroredAccount;
let stop: AbortController;
let context: IndexContext;

beforeEach(async () => {
  own = await createMigratedDatabase();
  account = await MirroredAccount.make(own, '42');
  stop = new AbortController();
  const direct = { url: own.url, program: 'research-mirror tests' };
  context = { db: own.db, direct, unpooled: true, clock: systemClock, signal: stop.signal };
});
afterEach(() => own.drop());

const run = (text: string): Promise<unknown> => sql.raw(text).execute(own.kysely);
const create = (...names: string[]) =>
  createIndexes(context, names.length === 0 ? undefined : names, () => {});
const drop = (...names: string[]) => dropIndexes(context, names.length === 0 ? undefined : names, () => {});

async function stateOf(name: string): Promise<string | undefined> {
  return (await listIndexes(own.db)).find((each) => each.name === name)?.state;
}

describe('optional indexes', () => {
  it('serve the views: each question is answered by the index made for it', async () => {
    await account.page('research_jobs', '[{"job_id":7,"status":"done","created_at":"2026-01-02T00:00:00Z"}]');
    await account.page('bulk_research_jobs', '[{"bulk_job_id":7}]');
    await account.page('lists', '[{"list_id":4}]');
    await account.page('list_items', '[{"id":"a:b"}]', { parent: '4' });
    await account.page('watchlist', '[{"id":"w"}]');
    const outcomes = (await create()).filter(({ name }) => !name.endsWith('_by_domain'));
    expect(new Set(outcomes.map(({ outcome }) => outcome))).toEqual(new Set(['made']));
    const asked = [
      ['research_jobs_live', `_key = '42:7'`, 'research_jobs_by_key'],
      ['bulk_research_jobs_live', `_key = '42:7'`, 'bulk_research_jobs_by_key'],
      ['lists_live', `_key = '42:4'`, 'lists_by_key'],
      ['list_items_live', `_key = '42:4:a:b'`, 'list_items_by_key'],
      ['list_items_live', `_list_key = '42:4'`, 'list_items_by_list_key'],
      ['watchlist_live', `_key = '42:w'`, 'watchlist_by_key'],
      ['research_jobs_live', `status = 'done'`, 'research_jobs_by_status'],
      ['research_jobs_live', `created_at > '2026-01-01'`, 'research_jobs_by_created_at'],
      ['research_jobs_live', `_changed_at > '2026-01-01'`, 'research_jobs_by_changed_at'],
    ] as const;
    for (const [view, where, index] of asked) {
      const query = `select * from mirror.${view} where ${where}`;
      expect(await explained(own, query)).toMatch(new RegExp(`\\b${index}\\b`));
      expect(await account.query(query)).toHaveLength(1);
    }
    // PostgreSQL prints each as this program expects: else it would take its own for somebody else's.
    const listed = await listIndexes(own.db);
    const made = listed.filter(({ optional, state }) => optional !== undefined && state !== 'covered');
    expect(made.map(({ state }) => state)).toEqual(outcomes.map(() => 'kept'));
    expect(made.every(({ bytes }) => bytes !== null)).toBe(true);
  });

  it('leave out what the index behind companies serves: the live rows of a domain', async () => {
    await account.page('research_jobs', '[{"job_id":7,"domain":"seven.example"}]');
    const query = `select * from mirror.research_jobs_live where _domain = 'seven.example'`;
    expect(await explained(own, query)).toMatch(/\bresearch_jobs_domain\b/);
    const listed = await listIndexes(own.db);
    expect(listed.find(({ name }) => name === 'research_jobs_by_domain')).toMatchObject({
      state: 'covered',
      coveredBy: 'research_jobs_domain',
    });
    expect(await create('research_jobs_by_domain')).toMatchObject([{ outcome: 'covered' }]);
    await run('drop index mirror.research_jobs_domain');
    expect(await stateOf('research_jobs_by_domain')).toBe('suggested');
    expect(await create('research_jobs_by_domain')).toMatchObject([{ outcome: 'made' }]);
  });

  it('may be asked for before their column is there: the daemon makes them when it comes', async () => {
    expect(await create('lists_by_created_at')).toMatchObject([{ outcome: 'waiting' }]);
    expect(await stateOf('lists_by_created_at')).toBe('waiting');
    expect(await keepIndexes(context)).toEqual([]);
    await account.page('lists', '[{"list_id":4,"created_at":"2026-01-02T00:00:00Z","status":"open"}]');
    expect(await keepIndexes(context)).toEqual([
      { name: 'lists_by_created_at', outcome: 'made', error: null },
    ]);
    expect(await stateOf('lists_by_status')).toBe('suggested');
  });

  it('all of them: those whose columns come later, too, until one is dropped', async () => {
    await create();
    await account.page('lists', '[{"list_id":4,"created_at":"2026-01-02T00:00:00Z","status":"open"}]');
    expect(await drop('lists_by_status')).toMatchObject([{ outcome: 'dropped' }]);
    expect((await keepIndexes(context)).map(({ name }) => name)).toEqual(['lists_by_created_at']);
    expect(await drop('lists_by_key')).toMatchObject([{ outcome: 'dropped' }]);
    expect(await keepIndexes(context)).toEqual([]);
    expect(await stateOf('lists_by_key')).toBe('suggested');
    await create();
    expect(await stateOf('lists_by_status')).toBe('kept');
    await drop();
    const states = (await listIndexes(own.db)).map(({ state }) => state);
    expect(new Set(states)).toEqual(new Set(['suggested', 'covered', 'other']));
    expect(await keepIndexes(context)).toEqual([]);
  });

  it('are made again where they were lost, or where making them was broken off', async () => {
    await create('lists_by_key', 'watchlist_by_key');
    await run('drop index mirror.lists_by_key');
    await run(
      `update pg_index set indisvalid = false where indexrelid = 'mirror.watchlist_by_key'::regclass`,
    );
    expect(await stateOf('lists_by_key')).toBe('missing');
    expect(await stateOf('watchlist_by_key')).toBe('broken');
    expect(await keepIndexes(context)).toMatchObject([{ outcome: 'made' }, { outcome: 'made' }]);
    expect(await stateOf('watchlist_by_key')).toBe('kept');
    expect(await keepIndexes(context)).toEqual([]);
  });

  it('wait for an open transaction, keep no writer waiting, and are broken off by a stop', async () => {
    const reading = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const reader = own.kysely
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(async (trx) => {
        await sql`select count(*) from mirror.lists`.execute(trx);
        reading.resolve();
        await release.promise;
      });
    await reading.promise;
    const making = create('lists_by_key').catch((error: unknown) => error);
    await eventually('the index to be begun', async () => (await stateOf('lists_by_key')) === 'building');
    // Somebody who makes another one of the same table would only wait.
    expect(await createIndexes(context, ['lists_by_changed_at'], () => {})).toMatchObject([
      { outcome: 'busy' },
    ]);
    await account.page('lists', '[{"list_id":4}]');
    stop.abort(new Error('stopped'));
    expect(await making).toEqual(new Error('stopped'));
    release.resolve();
    await reader;
    expect(await stateOf('lists_by_key')).toBe('broken');
    context = { ...context, signal: new AbortController().signal };
    expect(await create('lists_by_key', 'lists_by_changed_at')).toMatchObject([
      { outcome: 'made' },
      { outcome: 'made' },
    ]);
    expect(await account.query(`select _key from mirror.lists_live where _key = '42:4'`)).toHaveLength(1);
  });

  it('are made where the login has a time-out, and say what is missing where a pooler may be in between', async () => {
    const name = new URL(own.url).pathname.slice(1);
    await run(`alter database ${name} set statement_timeout = '30s'`);
    await run(`alter database ${name} set lock_timeout = '1s'`);
    const pooled = await createIndexes({ ...context, unpooled: false }, ['lists_by_key'], () => {});
    expect(pooled).toMatchObject([
      { outcome: 'failed', error: expect.stringContaining('set DATABASE_URL_DIRECT') as string },
    ]);
    expect(await create('lists_by_key')).toMatchObject([{ outcome: 'made' }]);
  });
});

describe.runIf(isPgbouncerTested())('through a transaction pooler', () => {
  it('they are made, kept and dropped as well', async () => {
    const pooler = await startPgbouncer(own.url);
    try {
      context = {
        ...context,
        direct: { url: pooler.url, program: 'research-mirror tests' },
        unpooled: false,
      };
      expect(await create('lists_by_key')).toMatchObject([{ outcome: 'made' }]);
      await run('drop index mirror.lists_by_key');
      expect(await keepIndexes(context)).toMatchObject([{ outcome: 'made' }]);
      expect(await drop('lists_by_key')).toMatchObject([{ outcome: 'dropped' }]);
    } finally {
      await pooler.stop();
    }
  });
});

describe('somebody’s own index', () => {
  it('is listed, and nothing makes, keeps or drops it', async () => {
    await run('create index mine on mirror.lists (_changed_at) where _deleted_at is null');
    await run('create index lists_by_key on mirror.lists (list_id)');
    expect(await stateOf('mine')).toBe('other');
    expect(await create('lists_by_key')).toMatchObject([{ outcome: 'taken' }]);
    expect(await drop('mine', 'lists_by_key', 'lists_pkey', 'nothing')).toMatchObject([
      { outcome: 'taken' },
      { outcome: 'taken' },
      { outcome: 'taken' },
      { outcome: 'unknown' },
    ]);
    await create();
    await drop();
    expect(await stateOf('mine')).toBe('other');
    expect(await stateOf('lists_by_key')).toBe('other');
  });

  it('that took the place of one of ours stays', async () => {
    await create('lists_by_key');
    await run('drop index mirror.lists_by_key; create index lists_by_key on mirror.lists (list_id)');
    expect(await keepIndexes(context)).toEqual([]);
    expect(await drop('lists_by_key')).toMatchObject([{ outcome: 'taken' }]);
    expect(await stateOf('lists_by_key')).toBe('other');
    await run('drop index mirror.lists_by_key');
    expect(await keepIndexes(context)).toEqual([]);
  });

  it('that does what one of ours would do is not made twice', async () => {
    await run('create index mine on mirror.lists (_changed_at)');
    expect(await stateOf('lists_by_changed_at')).toBe('covered');
    const outcomes = await create();
    expect(outcomes.find(({ name }) => name === 'lists_by_changed_at')).toMatchObject({ outcome: 'covered' });
    expect(await keepIndexes(context)).toEqual([]);
    await run('drop index mirror.mine');
    expect(await keepIndexes(context)).toMatchObject([{ name: 'lists_by_changed_at', outcome: 'made' }]);
  });
});
