/**
 * What `columns retype` costs those beside it (docs/operations.md, "Another type for a column"). A mirror is loaded,
 * some of its rows are changed, so that there is history, and then a column gets another type while one writer changes
 * pages of 500 rows and one reader asks for a row of the view, again and again.
 *
 * Claimed is that no page and no question waits for long, and that every value is what a page would write.
 *
 *     node bench/mirror/retype.ts [--rows 400000] [--changed 50000] [--postgres URL]
 */
import { sql } from 'kysely';
import { MIGRATIONS, programVersion } from '../../src/app/program-files.ts';
import { type Database, openDatabase } from '../../src/db/connection/database.ts';
import { migrate, MIGRATION_BOUNDS } from '../../src/db/migrations/run-migrations.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { retype } from '../../test/support/mirror/retyping.ts';
import { MirroredAccount } from '../../test/support/mirror/mirrored-account.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, mean, print, printMachine, printTable, quantile } from '../support/report.ts';
import { onStage, type Stage } from '../support/stage.ts';

const PAGE = 500;
/** Pauses (ms): a service that allows 600 requests a minute is read ten times a second at most. */
const PAGE_EVERY = 100;
const QUESTION_EVERY = 20;
/** Longest (ms) that a page or a question may take meanwhile. */
const PATIENCE = 2_000;

const flags = readFlags({ rows: 400_000, changed: 50_000, postgres: '' });
const claims = new Claims();

/** A page of research jobs of some 1.1 KB each; of the scores a tenth are words. */
function page(first: number, round: number): string {
  const items = Array.from({ length: PAGE }, (_, index) => {
    const id = (first + index) % flags.rows;
    return {
      job_id: id,
      status: 'completed',
      company_url: `https://www.company-${id % 20_011}.example/about`,
      created_at: new Date(1.7e12 + id * 1000).toISOString(),
      score: (id + round) % 10 === 0 ? 'high' : ((id * 7 + round) % 1000) / 1000,
      round,
      summary: `Company ${id} sells software to other companies. ${'It has grown every year. '.repeat(30)}`,
    };
  });
  return JSON.stringify(items);
}

interface Play {
  readonly database: Database;
  readonly account: MirroredAccount;
  /** The next page that is changed. */
  next: number;
}

await onStage(flags.postgres, async (stage) => {
  printMachine();
  const play = await load(stage);
  const before = await beside(play, systemClock.sleep(10_000));
  const began = performance.now();
  let took = 0;
  const work = retype(play.database.db, 'research_jobs.score', 'jsonb').then((done) => {
    took = performance.now() - began;
    return done;
  });
  const during = await beside(play, work);
  const { read, unfit } = await work;
  print(
    `\n${flags.rows} research jobs of 1.1 KB with ${flags.changed} versions or more: ${read} rows and versions read in ` +
      `${(took / 1000).toFixed(1)} s, ${unfit} values do not fit`,
  );
  const figures = (name: string, times: Times): string[][] =>
    [
      [`${name}: a page of ${PAGE} changed rows`, times.pages],
      [`${name}: one row of the view`, times.questions],
    ].map(([what, taken]) => [
      what as string,
      String(taken?.length),
      mean(taken as number[]).toFixed(1),
      quantile(
        (taken as number[]).toSorted((a, b) => a - b),
        0.99,
      ).toFixed(1),
      Math.max(...(taken as number[])).toFixed(1),
    ]);
  printTable(
    ['', 'times', 'mean, ms', '99 %, ms', 'longest, ms'],
    [...figures('before', before), ...figures('meanwhile', during)],
  );
  claims.check(Math.max(...during.pages, ...during.questions) < PATIENCE, 'nobody waited for long');
  await check(play);
  await play.database.close();
});
claims.tell('no page and no question waited for long; every value is the one of _raw');

async function load(stage: Stage): Promise<Play> {
  const url = await stage.database();
  const options = { url, schema: 'mirror', program: 'bench', bounds: MIGRATION_BOUNDS };
  const database = await openDatabase(options);
  await migrate({ db: database.db, folder: MIGRATIONS, version: programVersion(), clock: systemClock });
  const account = await MirroredAccount.make({ ...database, url, drop: () => database.close() }, '1');
  // The column is a number's: the first page has more of them.
  for (let first = 0; first < flags.rows; first += PAGE) await account.page('research_jobs', page(first, 0));
  for (let first = 0; first < flags.changed; first += PAGE)
    await account.page('research_jobs', page(first, 1));
  await sql`vacuum analyze mirror.research_jobs`.execute(database.kysely);
  return { database, account, next: flags.changed };
}

interface Times {
  readonly pages: number[];
  readonly questions: number[];
}

/** Milliseconds of each page and each question until `over` is done. */
async function beside(play: Play, over: Promise<unknown>): Promise<Times> {
  const state = { isOver: false };
  const ended = over.finally(() => {
    state.isOver = true;
  });
  const again = async (everyMs: number, what: () => Promise<unknown>): Promise<number[]> => {
    const taken: number[] = [];
    while (!state.isOver) {
      const began = performance.now();
      await what();
      taken.push(performance.now() - began);
      await systemClock.sleep(everyMs);
    }
    return taken;
  };
  const [pages, questions] = await Promise.all([
    again(PAGE_EVERY, () => {
      play.next += PAGE;
      return play.account.page('research_jobs', page(play.next, 2 + Math.floor(play.next / flags.rows)));
    }),
    again(QUESTION_EVERY, () =>
      sql`select * from mirror.research_jobs_live where _user_id = 1 and job_id = 4711`.execute(
        play.database.kysely,
      ),
    ),
    ended,
  ]);
  return { pages, questions };
}

async function check({ database }: Play): Promise<void> {
  const { rows } = await sql<{ wrong: string }>`
    select (select count(*) from mirror.research_jobs where score is distinct from _raw -> 'score')
      + (select count(*) from mirror.research_jobs_history where score is distinct from _raw -> 'score') as wrong`.execute(
    database.kysely,
  );
  claims.check(rows[0]?.wrong === '0', `every value is the one of _raw (${rows[0]?.wrong} are not)`);
}
