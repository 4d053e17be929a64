import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { sessionsWaiting } from '../../../support/postgres/sessions-waiting.ts';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { copiedColumns } from '../../../../src/db/copy/copied-columns.ts';
import { RetypeRefused } from '../../../../src/model/errors.ts';
import {
  createMigratedDatabase,
  type MigratedDatabase,
} from '../../../support/databases/migrated-database.ts';
import { DbWhere } from '../../../support/mirror/db-where.ts';
import { MirroredAccount, noFields } from '../../../support/mirror/mirrored-account.ts';
import { retype } from '../../../support/mirror/retyping.ts';

let own: MigratedDatabase;
let account: MirroredAccount;

beforeEach(async () => {
  own = await createMigratedDatabase();
  account = await MirroredAccount.make(own, '42');
});
afterEach(() => own.drop());

const run = (text: string): Promise<unknown> => sql.raw(text).execute(own.kysely);

/** What readers see of the jobs, but for the column. */
const unchanged = () =>
  account.query(`select _changed_at, _change_id, _raw, _hash from mirror.research_jobs
    union all select _changed_at, _change_id, _raw, _hash from mirror.research_jobs_history order by 2`);

describe('a column that gets another type', () => {
  it('has in every row and version what it would have had from the beginning, and nothing changed', async () => {
    await account.page('research_jobs', '[{"job_id":1,"score":1.50},{"job_id":2,"score":7},{"job_id":3}]');
    await account.page('research_jobs', '[{"job_id":1,"score":"high"},{"job_id":2,"score":"low"}]');
    await account.page('research_jobs', '[{"job_id":2,"score":8}]');
    const before = await unchanged();
    const changes = await account.query('select * from mirror.changes order by change_id, key, field');
    expect(await retype(own.db, 'research_jobs.score', 'text')).toEqual({ read: 6, unfit: 3 });
    expect(await account.query('select job_id, score from mirror.research_jobs order by 1')).toEqual([
      { job_id: '1', score: 'high' },
      { job_id: '2', score: null },
      { job_id: '3', score: null },
    ]);
    expect(
      await account.query('select job_id, score from mirror.research_jobs_history order by _change_id'),
    ).toEqual([
      { job_id: '1', score: null },
      { job_id: '2', score: null },
      { job_id: '2', score: 'low' },
    ]);
    expect(await unchanged()).toEqual(before);
    expect(await account.query('select * from mirror.changes order by change_id, key, field')).toEqual(
      changes,
    );
    expect(
      await account.query(`select type, conflicts from mirror.columns where column_name = 'score'`),
    ).toEqual([{ type: 'text', conflicts: '3' }]);
    await retype(own.db, 'research_jobs.score', 'numeric');
    expect(await account.query('select score from mirror.research_jobs order by job_id')).toEqual([
      { score: null },
      { score: '8' },
      { score: null },
    ]);
  });

  it('is written by its new type at once, also by a process that read its columns while it was filled', async () => {
    await account.page('research_jobs', '[{"job_id":1,"score":1}]');
    let transactions = 0;
    const watched = new DbWhere(own.db, {
      beforeTransaction: async () => {
        transactions += 1;
        if (transactions === 3) await account.page('research_jobs', '[{"job_id":4,"score":4}]');
      },
    });
    await retype(watched, 'research_jobs.score', 'text');
    const written = await account.page('research_jobs', '[{"job_id":2,"score":2},{"job_id":3,"score":"x"}]');
    expect(written).toMatchObject({ counts: { inserted: 2, conflicts: 1 } });
    expect(await account.query('select job_id, score from mirror.research_jobs order by job_id')).toEqual([
      { job_id: '1', score: null },
      { job_id: '2', score: null },
      { job_id: '3', score: 'x' },
      { job_id: '4', score: null },
    ]);
  });

  it('is whole where pages are written, rows and versions made while it is filled', async () => {
    const other = await MirroredAccount.make(own, '43');
    for (let page = 0; page < 4; page += 1) {
      const items = Array.from({ length: 400 }, (_, index) => ({ job_id: page * 400 + index, score: index }));
      await account.page('research_jobs', JSON.stringify(items));
      await other.page('research_jobs', JSON.stringify(items));
    }
    const work: Promise<unknown>[] = [];
    let turn = 0;
    const meanwhile = async (): Promise<void> => {
      turn += 1;
      if (turn > 5) return;
      for (const each of [account, other]) {
        // Rows that were filled already, rows that were not, new ones; with a value and without one.
        await each.page(
          'research_jobs',
          JSON.stringify([
            { job_id: turn, score: `s${turn}` },
            { job_id: 100 + turn },
            { job_id: 1_599 - turn, score: `s${turn}` },
            { job_id: 10_000 + turn, score: 'new' },
          ]),
        );
        await each.page('research_jobs', JSON.stringify([{ job_id: 10_000 + turn, score: turn, again: 1 }]));
      }
    };
    const { unfit } = await retype(own.db, 'research_jobs.score', 'text', {
      onRows: () => void work.push((work.at(-1) ?? Promise.resolve()).then(meanwhile)),
    });
    await Promise.all(work);
    expect(turn).toBeGreaterThan(5);
    for (const table of ['research_jobs', 'research_jobs_history']) {
      expect(
        await account.query(`select job_id, score, _raw from mirror.${table} where score is distinct from
          case when jsonb_typeof(_raw -> 'score') = 'string' then _raw ->> 'score' end`),
      ).toEqual([]);
    }
    expect(unfit).toBeGreaterThan(3_190);
    const [{ conflicts } = { conflicts: '' }] = await account.query<{ conflicts: string }>(
      `select conflicts from mirror.columns where column_name = 'score'`,
    );
    const [{ count } = { count: '' }] = await account.query<{ count: string }>(
      `select (select count(*) from mirror.research_jobs where jsonb_typeof(_raw -> 'score') = 'number')
        + (select count(*) from mirror.research_jobs_history where jsonb_typeof(_raw -> 'score') = 'number') as count`,
    );
    expect(conflicts).toBe(count);
  });

  it('keeps what readers built on: order, grants, comments, rights on the column', async () => {
    await account.page(
      'research_jobs',
      '[{"job_id":1,"score":1,"created_at":"2026-01-02T03:04:05Z","completed_at":"2026-01-02T03:04:05Z","domain":"a.example"}]',
    );
    await run(`create role r_${account.fence.userId}_retype`);
    try {
      const role = `r_${account.fence.userId}_retype`;
      await run(`grant select (score), update (score) on mirror.research_jobs to ${role};
        grant select on mirror.research_jobs_live, mirror.companies to ${role};
        revoke select on mirror.research_jobs_versions from mirror_reader;
        comment on column mirror.research_jobs.score is 'ours';
        comment on column mirror.companies.latest_score is 'theirs'`);
      const shape = () =>
        account.query(`select c.relname, a.attname, col_description(c.oid, a.attnum) as text,
            case when c.relkind = 'v' then a.attnum end as place, a.attacl::text as attacl, c.relacl::text as relacl
          from pg_class c join pg_attribute a on a.attrelid = c.oid
          where c.relnamespace = 'mirror'::regnamespace and a.attnum > 0 and not a.attisdropped
            and c.relname in ('research_jobs', 'research_jobs_live', 'research_jobs_versions', 'companies')
          order by 1, 4, 2`);
      const before = await shape();
      await retype(own.db, 'research_jobs.score', 'jsonb');
      await retype(own.db, 'research_jobs.completed_at', 'text');
      expect(await shape()).toEqual(before);
      expect(
        await account.query('select latest_score, last_researched_at::text as at from mirror.companies'),
      ).toEqual([{ latest_score: null, at: '2026-01-02 03:04:05+00' }]);
      await retype(own.db, 'research_jobs.score', 'numeric');
      expect(await account.query('select latest_score from mirror.companies')).toEqual([
        { latest_score: '1' },
      ]);
      await run(`update mirror._collections set mirrored_from = '2020-01-01', history_from = '2020-01-01'`);
      expect(
        await account.query(`select score, completed_at from mirror.research_jobs_as_of(now())`),
      ).toEqual([{ score: '1', completed_at: '2026-01-02T03:04:05Z' }]);
    } finally {
      await run(`drop owned by r_${account.fence.userId}_retype; drop role r_${account.fence.userId}_retype`);
    }
  });

  it('does not wait for readers who wait for it', async () => {
    await account.page('research_jobs', '[{"job_id":1,"score":1}]');
    const readers: Promise<unknown>[] = [];
    const busy = new DbWhere(own.db, {
      once: {
        when: 'after',
        statement: 'lock table only',
        happens: async () => {
          readers.push(account.query('select score from mirror.research_jobs_live'));
          const waits = async (): Promise<boolean> =>
            (await sessionsWaiting((text) => account.query(text))) === 1;
          await eventually('the reader waits', waits);
        },
      },
    });
    const impatient = { ...systemClock, sleep: () => Promise.reject(new Error('it was tried again')) };
    await retype(busy, 'research_jobs.score', 'jsonb', { clock: impatient });
    expect(await Promise.all(readers)).toEqual([[{ score: 1 }]]);
  });

  it('loses a field that is never stored from now on, also while it is filled', async () => {
    await account.page('research_jobs', '[{"job_id":1,"score":1},{"job_id":2,"score":2}]');
    const strict = await MirroredAccount.make(own, '42', {
      excludeFields: { ...noFields(), research_jobs: ['score'] },
    });
    // It knows the columns before the shadow is there.
    await strict.page('research_jobs', '[]');
    const work: Promise<unknown>[] = [];
    let once = false;
    await retype(own.db, 'research_jobs.score', 'jsonb', {
      onRows: () => {
        if (once) return;
        once = true;
        work.push(strict.page('research_jobs', '[{"job_id":1,"score":1},{"job_id":2,"score":2}]'));
      },
    });
    await Promise.all(work);
    expect(await account.query('select _raw, score from mirror.research_jobs order by job_id')).toEqual([
      { _raw: { job_id: 1 }, score: null },
      { _raw: { job_id: 2 }, score: null },
    ]);
  });
});

describe('a column that can’t get another type', () => {
  const columnsOf = () =>
    account.query(
      `select attname, format_type(atttypid, atttypmod) as type from pg_attribute
       where attrelid = 'mirror.research_jobs'::regclass and attnum > 0 and not attisdropped`,
    );

  it.each([
    ['a view', 'create view mirror.mine as select score from mirror.research_jobs', /view (mirror\.)?mine/],
    [
      'a view upon one of ours',
      'create view mirror.mine as select job_id from mirror.research_jobs_live',
      /view (mirror\.)?mine/,
    ],
    ['an index', 'create index mine on mirror.research_jobs (score)', /index (mirror\.)?mine/],
    [
      'a function',
      'create function mirror.mine() returns setof mirror.research_jobs_live language sql as $$ select * from mirror.research_jobs_live $$',
      /function (mirror\.)?mine\(\)/,
    ],
    [
      'a computed column',
      'alter table mirror.research_jobs add column twice numeric generated always as (score * 2) stored',
      /column twice of table/,
    ],
    [
      'a query as of a moment',
      `create view mirror.mine as select score from mirror.research_jobs_as_of('2026-01-01')`,
      /view (mirror\.)?mine/,
    ],
    [
      'a trigger on a view of ours',
      `create function mirror.nothing() returns trigger language plpgsql as $$ begin return null; end $$;
       create trigger mine instead of insert on mirror.research_jobs_live for each row execute function mirror.nothing()`,
      /mine on view|added to the view research_jobs_live/,
    ],
  ])('because of %s: it is named, and all is as before', async (_, statement, named) => {
    await account.page('research_jobs', '[{"job_id":1,"score":1}]');
    await run(statement);
    const before = await columnsOf();
    const refused = retype(own.db, 'research_jobs.score', 'text');
    await expect(refused).rejects.toBeInstanceOf(RetypeRefused);
    await expect(refused).rejects.toThrow(named);
    expect(await columnsOf()).toEqual(before);
  });

  it.each([
    ['status', 'jsonb', /is named in the service's specification/],
    ['job_id', 'text', /is of the key/],
    ['_raw', 'text', /the mirror's own/],
    ['score', 'numeric', /is numeric already/],
    ['score', 'integer', /no column is made with the type "integer"/],
    ['scores', 'text', /there is no column/],
    ['mine', 'text', /was not made by the mirror/],
  ])('%s %s', async (column, type, why) => {
    await account.page('research_jobs', '[{"job_id":1,"score":1}]');
    await run('alter table mirror.research_jobs add column mine text');
    await expect(retype(own.db, `research_jobs.${column}`, type)).rejects.toThrow(why);
  });

  it('while somebody reads on and on: it gives up after a minute, says who, and all is as before', async () => {
    await account.page('research_jobs', '[{"job_id":1,"score":1}]');
    const before = await columnsOf();
    let now = 0;
    const clock = {
      monotonic: () => now,
      sleep: (ms: number) => {
        now += ms * 10;
        return Promise.resolve();
      },
    };
    await own.kysely.transaction().execute(async (trx) => {
      await sql`select * from mirror.research_jobs`.execute(trx);
      await expect(retype(own.db, 'research_jobs.score', 'text', { clock: clock as never })).rejects.toThrow(
        /in use for a minute/,
      );
    });
    expect(await columnsOf()).toEqual(before);
  });
});

describe('a retype that is broken off', () => {
  it('leaves nothing behind; after a kill, what is left goes with the next one', async () => {
    const items = Array.from({ length: 1_200 }, (_, index) => ({ job_id: index, score: index }));
    await account.page('research_jobs', JSON.stringify(items));
    const stop = new AbortController();
    await expect(
      retype(own.db, 'research_jobs.score', 'text', {
        signal: stop.signal,
        onRows: () => stop.abort(new Error('stop')),
      }),
    ).rejects.toThrow('stop');
    const shadows = () =>
      account.query(
        `select attname from pg_attribute where attname ~ '^_retype' and not attisdropped
         and attrelid in ('mirror.research_jobs'::regclass, 'mirror.research_jobs_history'::regclass)`,
      );
    expect(await shadows()).toEqual([]);
    await run(`alter table mirror.research_jobs add column _retype_9_99 text;
      alter table mirror.research_jobs_history add column _retype_9_99 text; select mirror_sync.make_as_of()`);
    await account.page('research_jobs', '[{"job_id":1,"score":"x","more":1}]');
    expect(
      await account.query(
        `select column_name from information_schema.columns where table_schema = 'mirror' and column_name like '\\_retype%'
         and table_name in ('research_jobs_live', 'research_jobs_versions')`,
      ),
    ).toEqual([]);
    const { columns } = await copiedColumns(own.db, { schema: 'mirror', name: 'research_jobs' });
    expect(columns.map(({ name }) => name)).not.toContain('_retype_9_99');
    await retype(own.db, 'research_jobs.score', 'jsonb');
    expect(await shadows()).toEqual([]);
  });

  it('by another one that begins meanwhile says so, and leaves that one alone', async () => {
    await account.page('research_jobs', '[{"job_id":1,"score":1}]');
    let transactions = 0;
    const interrupted = new DbWhere(own.db, {
      beforeTransaction: async () => {
        transactions += 1;
        // The obstacles, the shadow, and then the first batch.
        if (transactions === 3) await retype(own.db, 'research_jobs.score', 'jsonb');
      },
    });
    await expect(retype(interrupted, 'research_jobs.score', 'text')).rejects.toThrow(
      'another "columns retype" of research_jobs has begun',
    );
    expect(
      await account.query(`select type, conflicts from mirror.columns where column_name = 'score'`),
    ).toEqual([{ type: 'jsonb', conflicts: '0' }]);
    expect(await account.query('select score from mirror.research_jobs')).toEqual([{ score: 1 }]);
  });
});
