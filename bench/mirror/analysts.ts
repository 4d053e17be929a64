/**
 * Analysts' questions of a mirror of two accounts: every query of docs/recipes.md, and those that are asked by one key
 * or one day, each as the role mirror_reader. Loaded by the program from a sandbox with lifted limits, then a day's
 * changes. Medians of five. With `--bound` of one account, each question by turns as mirror_reader and as a login that is
 * bound to it: what its policies cost.
 *
 *     node bench/mirror/analysts.ts [--jobs 202000] [--lists 415] [--changes 1000] [--bound] [--postgres URL]
 */
import type pg from 'pg';
import { STILL } from '@research-mirror/sandbox/testing/sandbox';
import { recipes } from '../../test/support/rules/recipes.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, median, print, printMachine, printTable } from '../support/report.ts';
import { runSync } from '../support/run-sync.ts';
import { onStage, withClient } from '../support/stage.ts';

const flags = readFlags({ jobs: 202_000, lists: 415, changes: 1000, bound: false, postgres: '' });
const claims = new Claims();

const ASKED = 5;
/** One answer is given up after so long. */
const PATIENCE = '120s';
const USERS = flags.bound ? ['1001'] : ['1001', '1002'];
const BOUND = 'bench_bound_reader';

interface Question {
  readonly title: string;
  readonly statement: string;
  /** Most milliseconds that are claimed. */
  readonly within?: number;
}

await onStage(flags.postgres, async (stage) => {
  const sandbox = await stage.sandbox({
    ...STILL,
    keys: USERS.map((user) => `key-${user}=${user}`).join(),
    jobs: flags.jobs,
    lists: flags.lists,
    itemsPerList: 100,
    limits: 'off',
  });
  await sandbox.control.clock({ freeze: true });
  const url = await stage.database();
  const keys = USERS.map((user) => `key-${user}`).join();
  const setting = { sandbox, folder: stage.folder, env: { DATABASE_URL: url, MIRROR_API_KEY: keys } };
  await runSync(setting);
  await withClient(url, async (client) => {
    await client.query('vacuum analyze');
    const before = await one(client, 'select max(change_id)::text from mirror_sync.account');
    const moment = await one(client, 'select clock_timestamp()::text');
    const jobs = await column(
      client,
      `select job_id::text from mirror.research_jobs where _user_id = ${USERS[0]} order by job_id desc limit ${flags.changes}`,
    );
    await sandbox.control.mutate(
      ...jobs.map(
        (id, note) => ({ op: 'update', user: 1001, collection: 'research_jobs', id, fields: { note } }) as const,
      ),
    );
    await runSync(setting);
    await client.query('vacuum analyze');
    await prepareReader(client);
    if (flags.bound) {
      await client.query(`create role ${BOUND}; select mirror_sync.bind_reader('${BOUND}', 1001);
        grant usage on schema crm to ${BOUND}; grant select on all tables in schema crm to ${BOUND}`);
    }
    printMachine();
    const counted = await client.query(
      `select collection, sum(live_rows)::text as rows from mirror.freshness group by 1 order by 1`,
    );
    print(
      (counted.rows as { collection: string; rows: string }[])
        .map(({ collection, rows }) => `${rows} ${collection}`)
        .join(', '),
    );
    await ask(client, [
      ...ownQuestions(before, moment, jobs.at(-1) ?? '1'),
      ...(await ofRecipes(before, moment, jobs.at(-1) ?? '1')),
    ]);
  });
  claims.tell('a day’s changes take less than 50 ms, what was never researched less than 3 s');
});

/** Questions by one key or one day. */
function ownQuestions(mark: string, moment: string, job: string): readonly Question[] {
  const changes = `from mirror.changes where _user_id = 1001 and change_id > ${mark}`;
  return [
    { title: 'changes since a watermark, counted', statement: `select count(*) ${changes}`, within: 50 },
    { title: 'the same, all columns', statement: `select * ${changes}`, within: 50 },
    {
      title: 'items never researched, counted',
      statement: 'select count(*) from mirror.companies where research_jobs = 0 and list_items > 0',
      within: 3000,
    },
    {
      title: 'one company',
      statement: `select * from mirror.companies where domain = (select _domain from mirror.research_jobs where _user_id = 1001 and job_id = ${job})`,
    },
    {
      title: 'one job as of a moment',
      statement: `select * from mirror.research_jobs_as_of('${moment}') where _user_id = 1001 and job_id = ${job}`,
    },
    {
      title: 'the same by versions',
      statement: `select * from mirror.research_jobs_versions where _user_id = 1001 and job_id = ${job} and _valid_from <= '${moment}' and (_valid_to is null or _valid_to > '${moment}')`,
    },
    {
      title: 'incremental, a watermark per account',
      statement: `select j.* from mirror.research_jobs j left join (select _user_id, max(_change_id) as mark from crm.jobs group by _user_id) seen using (_user_id) where j._change_id > coalesce(seen.mark, 0)`,
    },
  ];
}

async function ofRecipes(mark: string, moment: string, job: string): Promise<readonly Question[]> {
  return (await recipes()).flatMap(({ heading, statement }, index) => {
    if (
      !/^\s*(?:--[^\n]*\n\s*)*(?:select|with)\b/i.test(statement) ||
      /\b(?:cancel_)?submi(?:t|ssion)\(/.test(statement)
    )
      return [];
    const bound = statement
      .replaceAll(/as_of\(now\(\) - interval '1 day'\)/g, `as_of('${moment}')`)
      .replaceAll('$1', '1001')
      .replaceAll('$2', /job_id = \$2/.test(statement) ? job : mark);
    return [{ title: `${index + 1}. ${heading}`, statement: bound.replace(/;\s*$/, '') }];
  });
}

/** The copies of a reader's own that recipes name: as many rows as the mirror, before the day's changes. */
async function prepareReader(client: pg.Client): Promise<void> {
  await client.query(`
    create schema crm;
    create table crm.companies (id bigint, url text);
    create table crm.jobs as select _user_id, job_id, _change_id from mirror.research_jobs_as_of(now()) where false;
    insert into crm.jobs select _user_id, job_id, _change_id from mirror.research_jobs
      where _change_id not in (select j._change_id from mirror.research_jobs j where j._raw ? 'note');
    analyze crm.jobs;
    grant usage on schema crm to mirror_reader;
    grant select on all tables in schema crm to mirror_reader`);
}

async function ask(client: pg.Client, questions: readonly Question[]): Promise<void> {
  await client.query(`set statement_timeout = '${PATIENCE}'`);
  const rows: string[][] = [];
  for (const { title, statement, within } of questions) {
    const times: number[] = [];
    const boundTimes: number[] = [];
    let answered = 0;
    const timed = async (role: string): Promise<number> => {
      await client.query(`set role ${role}`);
      const begin = performance.now();
      answered = (await client.query(statement)).rows.length;
      return performance.now() - begin;
    };
    // A condition that is not leakproof waits for the policy's, and may lose its index: another plan shows it.
    const planOf = async (role: string): Promise<string> => {
      await client.query(`set role ${role}`);
      const lines = await column(client, `explain (costs off) ${statement}`);
      return lines.filter((line) => /->|^\S/.test(line)).join('\n');
    };
    try {
      for (let turn = 0; turn < ASKED; turn += 1) {
        times.push(await timed('mirror_reader'));
        if (flags.bound) boundTimes.push(await timed(BOUND));
        if (times[0] !== undefined && times[0] > 10_000) break;
      }
    } catch (error) {
      rows.push([title, '', '', (error as Error).message]);
      claims.check(false, `${title}: ${(error as Error).message}`);
      continue;
    }
    const mid = median(times);
    const bound = median(boundTimes);
    const isSame = !flags.bound || (await planOf('mirror_reader')) === (await planOf(BOUND));
    const more = flags.bound ? [bound.toFixed(1), (bound / mid).toFixed(2), isSame ? '' : 'other plan'] : [];
    rows.push([title, String(answered), mid.toFixed(1), (times[0] ?? Number.NaN).toFixed(1), ...more]);
    if (within !== undefined) claims.check(mid < within, `${title}: ${mid.toFixed(0)} ms`);
  }
  const more = flags.bound ? ['bound ms', 'ratio', 'plan'] : [];
  await client.query('reset role');
  if (flags.bound) await client.query(`drop owned by ${BOUND}; drop role ${BOUND}`);
  printTable(['question', 'rows', 'median ms', 'first ms', ...more], rows);
}

async function column(client: pg.Client, statement: string): Promise<string[]> {
  const { rows } = await client.query<string[]>({ text: statement, rowMode: 'array' });
  return rows.map(([value]) => String(value));
}

async function one(client: pg.Client, statement: string): Promise<string> {
  return (await column(client, statement))[0] ?? '';
}
