import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { sessionsWaiting } from '../../../support/postgres/sessions-waiting.ts';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Db } from '../../../../src/postgres/db.ts';
import { copiedColumns } from '../../../../src/operate/copy.ts';
import { TypeRefused } from '../../../../src/model/errors.ts';
import { databaseForEach } from '../../../support/databases/migrated-database.ts';
import { DbWhere } from '../../../support/mirror/db-where.ts';
import { lines } from '../../../support/mirror/lines.ts';
import { MirroredAccount, noFields } from '../../../support/mirror/mirrored-account.ts';
import { setType } from '../../../support/mirror/setting-type.ts';

const own = databaseForEach();
let account: MirroredAccount;

beforeEach(async () => {
  account = await MirroredAccount.make(own, '42');
});

const run = (text: string): Promise<unknown> => sql.raw(text).execute(own.kysely);

/** Calls `then` once, when the second column exists and the first batch is read or filled. */
function whileFilled(happens: () => Promise<unknown>, when: 'read' | 'filled' = 'read'): Db {
  let made = false;
  let left = when === 'read' ? 2 : 3;
  return new DbWhere(own.db, {
    beforeTransaction: async () => {
      made ||= (await secondColumns()).length > 0;
      if (made && (left -= 1) === 0) await happens();
    },
  });
}

const secondColumns = () =>
  lines(
    account,
    `select attname from pg_attribute where attname ~ '^_set_type' and not attisdropped
     and attrelid in ('mirror.research_jobs'::regclass, 'mirror.research_jobs_history'::regclass)`,
  );
const write = (items: string) => account.page('research_jobs', items);

describe('a column that gets another type', () => {
  it('says what would be lost, with examples, and changes no row or version', async () => {
    await write('[{"job_id":1,"score":1.50},{"job_id":2,"score":7},{"job_id":3}]');
    await write('[{"job_id":1,"score":"high"},{"job_id":2,"score":"low"}]');
    await write('[{"job_id":2,"score":8}]');
    const seen = () =>
      account.query(`select _changed_at, _change_id, _raw, _hash from mirror.research_jobs
        union all select _changed_at, _change_id, _raw, _hash from mirror.research_jobs_history order by 2`);
    const before = await seen();
    expect(await setType(own.db, 'research_jobs.score', 'text')).toMatchObject({
      values: 5,
      unfit: new Map([['42', 3]]),
      lost: 3,
      examples: [
        { userId: '42', key: '2', value: '8' },
        { userId: '42', key: '1', value: '1.50' },
        { userId: '42', key: '2', value: '7' },
      ],
    });
    expect(await seen()).toEqual(before);
  });

  it('is complete although pages write rows and versions while it is filled', async () => {
    const other = await MirroredAccount.make(own, '43');
    for (let page = 0; page < 4; page += 1) {
      const items = Array.from({ length: 400 }, (_, index) => ({ job_id: page * 400 + index, score: index }));
      await write(JSON.stringify(items));
      await other.page('research_jobs', JSON.stringify(items));
    }
    const work: Promise<unknown>[] = [];
    let turn = 0;
    const meanwhile = async (): Promise<void> => {
      turn += 1;
      if (turn > 30) return;
      for (const each of [account, other]) {
        // Filled, unfilled and new rows; with a value and without.
        const items = [turn, 1_599 - turn, 10_000 + turn].map((id) => ({ job_id: id, score: `s${turn}` }));
        await each.page('research_jobs', JSON.stringify([...items, { job_id: 100 + turn }]));
        await each.page('research_jobs', JSON.stringify([{ job_id: 10_000 + turn, score: turn, again: 1 }]));
      }
    };
    const watched = new DbWhere(own.db, {
      beforeTransaction: () => {
        work.push((work.at(-1) ?? Promise.resolve()).then(meanwhile));
        return Promise.resolve();
      },
    });
    const told = await setType(watched, 'research_jobs.score', 'text');
    await Promise.all(work);
    expect(turn).toBeGreaterThan(5);
    for (const table of ['research_jobs', 'research_jobs_history']) {
      const wrong = `select job_id, score, _raw from mirror.${table} where score is distinct from
        case when jsonb_typeof(_raw -> 'score') = 'string' then _raw ->> 'score' end`;
      expect(await account.query(wrong)).toEqual([]);
    }
    // Counted: what the trial found, and what pages wrote since the replacement.
    const unfit = [...(told?.unfit.values() ?? [])].reduce((sum, count) => sum + count, 0);
    expect(unfit).toBeGreaterThan(3_190);
    const counted = `select conflicts from mirror.columns where column_name = 'score'`;
    expect(Number((await lines(account, counted))[0])).toBeGreaterThanOrEqual(unfit);
  });

  it('keeps the order, grants, options and comments of its views', async () => {
    const at = '2026-01-02T03:04:05Z';
    await write(`[{"job_id":1,"score":1,"created_at":"${at}","completed_at":"${at}","domain":"a.example"}]`);
    const role = `r_${account.fence.userId}_retype`;
    await run(`create role ${role}`);
    try {
      await run(`alter view mirror.research_jobs_live set (security_barrier = true);
        grant select on mirror.research_jobs_live, mirror.companies to ${role};
        revoke select on mirror.research_jobs_versions from mirror_reader;
        select mirror_sync.give_view_columns();
        comment on column mirror.research_jobs.score is 'ours';
        comment on column mirror.companies.latest_score is 'theirs'`);
      const shape = () =>
        account.query(`select c.relname, a.attname, col_description(c.oid, a.attnum) as text,
            case when c.relkind = 'v' then a.attnum end as place, a.attacl::text as attacl, c.relacl::text as relacl, c.reloptions
          from pg_class c join pg_attribute a on a.attrelid = c.oid
          where c.relnamespace = 'mirror'::regnamespace and a.attnum > 0 and not a.attisdropped
            and c.relname in ('research_jobs', 'research_jobs_live', 'research_jobs_versions', 'companies')
          order by 1, 4, 2`);
      const before = await shape();
      await setType(own.db, 'research_jobs.score', 'jsonb');
      await setType(own.db, 'research_jobs.completed_at', 'text');
      expect(await shape()).toEqual(before);
      const company = 'select latest_score, last_researched_at::text from mirror.companies';
      expect(await lines(account, company)).toEqual(['- 2026-01-02 03:04:05+00']);
      await setType(own.db, 'research_jobs.score', 'numeric');
      expect(await lines(account, 'select latest_score from mirror.companies')).toEqual(['1']);
      await run(`update mirror._collections set mirrored_from = '2020-01-01', history_from = '2020-01-01'`);
      const asOf = 'select score, completed_at from mirror.research_jobs_as_of(now())';
      expect(await lines(account, asOf)).toEqual(['1 2026-01-02T03:04:05Z']);
    } finally {
      await run(`drop owned by ${role}; drop role ${role}`);
    }
  });

  it('does not wait for readers who wait for it', async () => {
    await write('[{"job_id":1,"score":1}]');
    const readers: Promise<unknown>[] = [];
    const happens = async () => {
      readers.push(account.query('select score from mirror.research_jobs_live'));
      await eventually('the reader waits', async () => (await sessionsWaiting((text) => account.query(text))) === 1);
    };
    // Both views are dropped then.
    const statement = '\n    select col_description';
    const busy = new DbWhere(own.db, { once: { when: 'after', statement, happens } });
    const impatient = { ...systemClock, sleep: () => Promise.reject(new Error('it was tried again')) };
    await setType(busy, 'research_jobs.score', 'jsonb', { clock: impatient });
    expect(await Promise.all(readers)).toEqual([[{ score: 1 }]]);
  });

  it('loses a field that is no longer stored, also while it is filled', async () => {
    const page = '[{"job_id":1,"score":1},{"job_id":2,"score":2}]';
    await write(page);
    const excludeFields = { ...noFields(), research_jobs: ['score'] };
    const strict = await MirroredAccount.make(own, '42', { excludeFields });
    // It knows the columns before the second one exists.
    await strict.page('research_jobs', '[]');
    const watched = whileFilled(() => strict.page('research_jobs', page), 'filled');
    await setType(watched, 'research_jobs.score', 'jsonb');
    const stored = await account.rowsOf('_raw::text, score', 'mirror.research_jobs', 'order by job_id');
    expect(stored).toEqual(['{"job_id": 1} -', '{"job_id": 2} -']);
  });
});

describe('a column that can’t get another type', () => {
  const columnsOf = () =>
    account.query(`select attname, format_type(atttypid, atttypmod) as type from pg_attribute
       where attrelid = 'mirror.research_jobs'::regclass and attnum > 0 and not attisdropped`);

  it.each([
    ['a view', 'create view mine as select score from research_jobs', /view (mirror\.)?mine/],
    ['a view upon one of ours', 'create view mine as select job_id from research_jobs_live', /view (mirror\.)?mine/],
    ['an index', 'create index mine on research_jobs (score)', /index (mirror\.)?mine/],
    [
      'a function',
      'create function mine() returns setof research_jobs_live language sql as $$ select * from research_jobs_live $$',
      /function (mirror\.)?mine\(\)/,
    ],
    [
      'a computed column',
      'alter table research_jobs add column twice numeric generated always as (score * 2) stored',
      /column twice of table/,
    ],
    [
      'a query as of a moment',
      `create view mine as select score from research_jobs_as_of('2026-01-01')`,
      /view (mirror\.)?mine/,
    ],
    [
      'a trigger on a view of ours',
      `create function nothing() returns trigger language plpgsql as $$ begin return null; end $$;
       create trigger mine instead of insert on research_jobs_live for each row execute function nothing()`,
      /mine on view|view research_jobs_live has additions that can't be recreated/,
    ],
    [
      'a foreign key',
      `create table scores (score numeric primary key); insert into scores values (1);
       alter table research_jobs add constraint mine foreign key (score) references scores`,
      /constraint mine on table/,
    ],
    ['a policy', 'create policy mine on research_jobs using (score > 0)', /policy mine on table/],
    [
      'a column list of a publication',
      'create publication mine for table research_jobs (_user_id, job_id, score)',
      /publication of table .*research_jobs in publication mine/,
    ],
    ['statistics', 'create statistics mine on score, job_id from research_jobs', /statistics object (mirror\.)?mine/],
    ['rights', 'grant references (score) on research_jobs to public', /rights on column score of table/],
  ])('because of %s: it is named, and all is as before', async (_, statement, named) => {
    await write('[{"job_id":1,"score":1}]');
    await run(`set search_path = mirror; ${statement}; reset search_path`);
    const before = await columnsOf();
    const refused = setType(own.db, 'research_jobs.score', 'text');
    await expect(refused).rejects.toBeInstanceOf(TypeRefused);
    await expect(refused).rejects.toThrow(named);
    expect(await columnsOf()).toEqual(before);
  });

  it.each([
    ['status', 'jsonb', /is part of the key or named in the service’s specification/],
    ['job_id', 'text', /is part of the key/],
    ['_raw', 'text', /is not a column that the mirror created/],
    ['score', 'numeric', /already has type numeric/],
    ['score', 'integer', /can't have type "integer"\. Use one of text, /],
    ['scores', 'text', /is not a column that the mirror created/],
    ['mine', 'text', /is not a column that the mirror created/],
    ['by_hand', 'text', /was changed by hand\. Change it back to numeric first/],
  ])('%s %s', async (column, type, why) => {
    await write('[{"job_id":1,"score":1,"by_hand":1}]');
    await run(`alter table mirror.research_jobs add column mine text;
      drop view mirror.research_jobs_live, mirror.research_jobs_versions;
      alter table mirror.research_jobs alter column by_hand type float8`);
    await expect(setType(own.db, `research_jobs.${column}`, type)).rejects.toThrow(why);
  });

  it('while somebody reads on and on: it gives up after a minute, says who, and all is as before', async () => {
    await write('[{"job_id":1,"score":1}]');
    const before = await columnsOf();
    let now = 0;
    const sleep = async (ms: number): Promise<void> => void (now += ms * 25);
    const clock = { ...systemClock, monotonic: () => now, sleep };
    await own.db.transaction(async (trx) => {
      await trx.sql`select * from mirror.research_jobs`;
      await expect(setType(own.db, 'research_jobs.score', 'text', { clock })).rejects.toThrow(/lock/);
    });
    expect(await columnsOf()).toEqual(before);
  });
});

describe('a change that is broken off', () => {
  it('leaves nothing behind; the next one removes what a kill left', async () => {
    const items = Array.from({ length: 1_200 }, (_, index) => ({ job_id: index, score: index }));
    await write(JSON.stringify(items));
    const stop = new AbortController();
    const watched = whileFilled(async () => stop.abort(new Error('stop')));
    const stopped = setType(watched, 'research_jobs.score', 'text', { signal: stop.signal });
    await expect(stopped).rejects.toThrow('stop');
    expect(await secondColumns()).toEqual([]);
    await run(`alter table mirror.research_jobs add column _set_type_9_99 text;
      alter table mirror.research_jobs_history add column _set_type_9_99 text; select mirror_sync.make_as_of()`);
    await write('[{"job_id":1,"score":"x","more":1}]');
    const shown = `select column_name from information_schema.columns where table_schema = 'mirror'
      and column_name like '\\_set\\_type%' and table_name in ('research_jobs_live', 'research_jobs_versions')`;
    expect(await account.query(shown)).toEqual([]);
    const columns = await copiedColumns(own.db, { schema: 'mirror', name: 'research_jobs' });
    expect(columns.map(({ name }) => name)).not.toContain('_set_type_9_99');
    await setType(own.db, 'research_jobs.score', 'jsonb');
    expect(await secondColumns()).toEqual([]);
  });

  it('by another one that begins meanwhile says so, and leaves that one alone', async () => {
    await write('[{"job_id":1,"score":1}]');
    const interrupted = whileFilled(() => setType(own.db, 'research_jobs.score', 'jsonb'));
    await expect(setType(interrupted, 'research_jobs.score', 'text')).rejects.toThrow(
      'another "columns set-type" of research_jobs began meanwhile',
    );
    const column = `select type, conflicts from mirror.columns where column_name = 'score'`;
    expect(await lines(account, column)).toEqual(['jsonb 0']);
    expect(await account.query('select score from mirror.research_jobs')).toEqual([{ score: 1 }]);
  });
});
