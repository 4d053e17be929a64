import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { serverUrl } from '../../support/postgres/postgres.ts';
import { createSystem, type Environment, type System } from '../../support/processes/system.ts';

let system: System;
afterEach(() => system.close());

const NO_POLLS: Environment = { MIRROR_POLL_CRON: 'never', MIRROR_FULL_CRON: 'never' };

interface Row {
  readonly operation: string;
  readonly state: string;
  readonly response_status: number | null;
  readonly response: Record<string, unknown> | null;
}

type Queryable = Pick<pg.Pool, 'query'>;

async function submit(
  operation: string,
  payload: string,
  target: string | null = null,
  db: Queryable = system.db,
): Promise<string> {
  const { rows } = await db.query<{ id: string }>('select mirror.submit($1, $2, $3) as id', [
    operation,
    payload,
    target,
  ]);
  return rows[0]?.id ?? '';
}

async function rowOf(id: string, db: Queryable = system.db): Promise<Row | undefined> {
  const { rows } = await db.query<Row>(
    'select operation, state, response_status, response from mirror.submissions where submission_id = $1',
    [id],
  );
  return rows[0];
}

/** Until it has come to an end. */
function ended(id: string, db?: Queryable): Promise<Row> {
  return eventually(`the end of submission ${id}`, async () => {
    const row = await rowOf(id, db);
    return row !== undefined && !['queued', 'sending', 'held'].includes(row.state) && row;
  });
}

async function anyKey(table: string, column: string): Promise<string> {
  const { rows } = await system.db.query<{ key: string }>(
    `select ${column} as key from mirror.${table} limit 1`,
  );
  return rows[0]?.key ?? '';
}

/** Until everything was read once: without polls nothing else is, but what is hinted. */
async function loaded(): Promise<void> {
  await eventually('the first load', async () => {
    const { rows } = await system.db.query<{ open: number }>(
      'select count(*)::int as open from mirror.freshness where polled_at is null having count(*) = 0',
    );
    return (
      rows.length > 0 &&
      (await anyKey('research_jobs', 'job_id')) !== '' &&
      (await anyKey('lists', 'list_id')) !== ''
    );
  });
}

async function effects(): Promise<string[]> {
  return (await system.sandbox.control.operations()).map(({ operation }) => operation).toSorted();
}

describe('operations queued by SQL', () => {
  it('are sent once, their answers are kept, and what they made is in the mirror without a poll', async () => {
    system = await createSystem();
    const daemon = await system.daemon(NO_POLLS);
    await loaded();
    const payload =
      '{"company_url": "https://a.example", "exact": 12345678901234567890.123456789012345678901}';
    const ids = {
      research: await submit('research', payload),
      enrich: await submit('enrich', payload),
      clay_enrich: await submit('clay_enrich', payload),
      bulk_research: await submit('bulk_research', payload),
      list: await submit('list', '{"name": "made here"}'),
      sequence: await submit('sequence', '{}', await anyKey('research_jobs', 'job_id')),
    };
    for (const [operation, id] of Object.entries(ids))
      expect(await ended(id)).toMatchObject({ operation, state: 'accepted', response_status: 201 });
    expect(await effects()).toEqual(Object.keys(ids).toSorted());

    const sent = await system.sandbox.control.operations();
    const { rows: requests } = await system.db.query<{ key: string }>(
      'select _request_id as key from mirror.submissions',
    );
    expect(new Set(sent.map(({ idempotencyKey }) => idempotencyKey))).toEqual(
      new Set(requests.map(({ key }) => key)),
    );
    const research = sent.find(({ operation }) => operation === 'research');
    expect(research?.payload).toContain('12345678901234567890.123456789012345678901');

    for (const [table, column, id] of [
      ['research_jobs', 'job_id', ids.research],
      ['bulk_research_jobs', 'bulk_job_id', ids.bulk_research],
      ['lists', 'list_id', ids.list],
    ] as const) {
      const key = (await rowOf(id))?.response?.[column];
      expect(key).toBeTypeOf('number');
      const query = `select 1 from mirror.${table} where ${column} = $1`;
      await eventually(
        `the row in ${table}`,
        async () => (await system.db.query(query, [key])).rows.length === 1,
      );
    }
    expect((await system.sandbox.control.counters()).rateLimited).toBe(0);
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });

  it('are rejected where the service refuses, and not sent where they were cancelled', async () => {
    system = await createSystem();
    const daemon = await system.daemon(NO_POLLS);
    await loaded();
    expect(await ended(await submit('sequence', '{}', '999999999'))).toMatchObject({
      state: 'rejected',
      response_status: 404,
    });
    await daemon.stop();
    const cancelled = await submit('research', '{}');
    const { stdout, code } = await system.run(['submissions', 'cancel', cancelled]);
    expect({ code, stdout }).toMatchObject({ code: 0 });
    const next = await system.daemon(NO_POLLS);
    expect(await ended(await submit('enrich', '{}'))).toMatchObject({ state: 'accepted' });
    expect(await rowOf(cancelled)).toMatchObject({ state: 'cancelled' });
    expect(await effects()).toEqual(['enrich']);
    await next.stop();
  });

  it('have their answer waited for by a stop', async () => {
    system = await createSystem({ latencyMin: 1_500, latencyMax: 1_500 });
    const daemon = await system.daemon(NO_POLLS);
    await loaded();
    const id = await submit('research', '{}');
    await eventually('the request', async () => (await rowOf(id))?.state === 'sending');
    expect(await daemon.stop()).toMatchObject({ code: 0 });
    expect(await rowOf(id)).toMatchObject({ state: 'accepted' });
    expect(await effects()).toEqual(['research']);
  });
});

describe('a database that may be a copy', () => {
  it('sends nothing of what is queued in it until it is released', async () => {
    system = await createSystem();
    const daemon = await system.daemon(NO_POLLS);
    await loaded();
    await daemon.stop();
    const id = await submit('list_analyze', '{}', await anyKey('lists', 'list_id'));
    const copy = await copyDatabase();
    try {
      const env = { ...NO_POLLS, DATABASE_URL: copy.url };
      const second = await system.daemon(env);
      await eventually('the hold', async () => (await rowOf(id, copy.db))?.state === 'held');
      // What comes later can't have been sent by the original.
      const later = await submit('research', '{}', null, copy.db);
      expect(await ended(later, copy.db)).toMatchObject({ state: 'accepted' });
      expect(await effects()).toEqual(['research']);
      expect((await rowOf(id, copy.db))?.state).toBe('held');
      expect((await system.run(['status'], env)).stdout).toMatch(/held/);

      expect((await system.run(['submissions', 'release'], env)).code).toBe(0);
      expect(await ended(id, copy.db)).toMatchObject({ state: 'accepted' });
      expect(await effects()).toEqual(['list_analyze', 'research']);
      await second.stop();
    } finally {
      await copy.drop();
    }
  });

  it('is held likewise where it was set back by more than ten minutes', async () => {
    system = await createSystem();
    const daemon = await system.daemon(NO_POLLS);
    await loaded();
    await daemon.stop();
    const id = await submit('research', '{}');
    // As a dump of ten minutes ago says.
    await system.db.query(`update mirror_sync.installation set alive_at = alive_at - interval '11 minutes'`);
    const second = await system.daemon(NO_POLLS);
    await eventually('the hold', async () => (await rowOf(id))?.state === 'held');
    expect(await effects()).toEqual([]);
    expect((await system.run(['submissions', 'release'])).code).toBe(0);
    expect(await ended(id)).toMatchObject({ state: 'accepted' });
    await second.stop();
  });
});

describe('the roles that a daemon makes', () => {
  it('let a reader neither submit nor cancel nor see its state, and a submitter do both', async () => {
    system = await createSystem();
    const daemon = await system.daemon(NO_POLLS);
    await loaded();
    const id = await submit('research', '{}');
    await ended(id);
    const as = async (role: string, statement: string): Promise<unknown> => {
      const client = await system.db.connect();
      try {
        await client.query(`begin; set local role ${role}`);
        return (await client.query(statement)).rows;
      } catch (error) {
        return (error as pg.DatabaseError).code;
      } finally {
        await client.query('rollback');
        client.release();
      }
    };
    const submitting = `select mirror.submit('research', '{}') is not null as queued`;
    expect(await as('mirror_reader', 'select state from mirror.submissions')).toEqual([
      { state: 'accepted' },
    ]);
    expect(await as('mirror_reader', submitting)).toBe('42501');
    expect(await as('mirror_reader', `select mirror.cancel_submission(${id})`)).toBe('42501');
    for (const table of ['account', 'registration', 'event_seen', 'hint', 'installation'])
      expect(await as('mirror_reader', `select 1 from mirror_sync.${table}`)).toBe('42501');
    expect(await as('mirror_submitter', submitting)).toEqual([{ queued: true }]);
    expect(await as('mirror_submitter', `select mirror.cancel_submission(${id})`)).toBe('RM017');
    await daemon.stop();
  });
});

/** A copy of the system's database, as `create database … template` makes it. */
async function copyDatabase(): Promise<{
  readonly url: string;
  readonly db: pg.Pool;
  drop(): Promise<void>;
}> {
  const server = new pg.Client({ connectionString: await serverUrl() });
  await server.connect();
  const name = `copy_${randomBytes(6).toString('hex')}`;
  const source = new URL(system.databaseUrl).pathname.slice(1);
  // Nobody may be connected to a template: the pool connects anew.
  await server.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [source]);
  await server.query(`create database ${name} template ${source}`);
  const url = new URL(system.databaseUrl);
  url.pathname = `/${name}`;
  const db = new pg.Pool({ connectionString: url.href, max: 2 });
  db.on('error', () => {});
  return {
    url: url.href,
    db,
    async drop() {
      await db.end();
      await server.query(`drop database ${name} with (force)`);
      await server.end();
    },
  };
}
