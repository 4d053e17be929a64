/**
 * What optional indexes cost and bring (docs/operations.md, "Optional indexes"). Pages of 500 rows are written
 * through the mirror's own path, history on: new rows, then each row changed once. Each variant has a database of its
 * own, with its indexes made by what `indexes create` does. Then one more mirror is loaded without any, questions are
 * asked, the indexes are made beside a writer, and the questions are asked again.
 *
 * Claimed is that each question is answered faster with its index, and that the writer never waited for the making.
 *
 *     node bench/mirror/indexes.ts [--rows 50000] [--loaded 400000] [--postgres URL]
 */
import { sql } from 'kysely';
import { createIndexes, listIndexes } from '../../src/app/indexes/index-work.ts';
import { programVersion } from '../../src/app/program-files.ts';
import { type Database, openDatabase } from '../../src/db/connection/database.ts';
import { migrate, MIGRATION_BOUNDS } from '../../src/db/migrations/run-migrations.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { MirroredAccount } from '../../test/support/mirror/mirrored-account.ts';
import { MIGRATIONS } from '../../src/app/program-files.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, mean, median, print, printMachine, printTable } from '../support/report.ts';
import { onStage, type Stage } from '../support/stage.ts';

const PAGE = 500;
/** Pages before the first one that counts. */
const WARM = 5;
const ALL = ['key', 'status', 'created_at', 'changed_at'] as const;
/** Longest (ms) that a page may take while indexes are made, in the median of all pages. */
const PATIENCE = 2_000;

const flags = readFlags({ rows: 50_000, loaded: 400_000, postgres: '' });
const claims = new Claims();
const columnsOf = (indexes: readonly string[]): string[] => indexes.map((name) => `research_jobs_by_${name}`);

/** A page of research jobs of some 0.6 KB each; each further round changes every row. */
function page(first: number, round: number): string {
  const items = Array.from({ length: PAGE }, (_, index) => {
    const id = first + index;
    return {
      job_id: id,
      status: statusOf((id + round) % 100),
      company_url: `https://www.company-${id % 20_011}.example/about`,
      company_name: `Company ${id} Incorporated`,
      created_at: new Date(1.7e12 + id * 1000).toISOString(),
      score: ((id * 7 + round) % 1000) / 1000,
      employee_count: id % 5000,
      summary: `Company ${id} sells software to other companies. ${'It has grown every year. '.repeat(12)}`,
    };
  });
  return JSON.stringify(items);
}

/** 97 % completed, 2 % failed, 1 % queued. */
function statusOf(percent: number): string {
  if (percent > 2) return 'completed';
  return percent > 0 ? 'failed' : 'queued';
}

interface Mirror {
  readonly database: Database;
  readonly account: MirroredAccount;
  readonly url: string;
}

async function openMirror(stage: Stage): Promise<Mirror> {
  const url = await stage.database();
  const admin = await openDatabase({ url, schema: 'mirror', program: 'bench', bounds: MIGRATION_BOUNDS });
  await migrate({ db: admin.db, folder: MIGRATIONS, version: programVersion(), clock: systemClock });
  await admin.close();
  const database = await openDatabase({ url, schema: 'mirror', program: 'bench', bounds: MIGRATION_BOUNDS });
  const account = await MirroredAccount.make({ ...database, url, drop: () => database.close() }, '1');
  return { database, account, url };
}

async function makeIndexes({ database, url }: Mirror, names: readonly string[] | undefined): Promise<number> {
  const began = performance.now();
  const context = {
    db: database.db,
    direct: { url, program: 'bench' },
    unpooled: true,
    clock: systemClock,
    signal: new AbortController().signal,
  };
  const outcomes = await createIndexes(context, names, () => {});
  claims.check(
    outcomes.every(({ outcome }) => outcome === 'made'),
    `all are made: ${JSON.stringify(outcomes)}`,
  );
  return performance.now() - began;
}

/** @returns rows a second */
async function write({ account }: Mirror, rows: number, round: number): Promise<number> {
  const began = performance.now();
  for (let first = 0; first < rows; first += PAGE) await account.page('research_jobs', page(first, round));
  return rows / ((performance.now() - began) / 1000);
}

/** Milliseconds that an analyst's question takes, at best of five. */
async function ask({ database }: Mirror, question: string): Promise<number> {
  const taken: number[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const began = performance.now();
    await sql.raw(question).execute(database.kysely);
    taken.push(performance.now() - began);
  }
  return Math.min(...taken);
}

/** A variant's mirror, and what each of its pages cost. */
interface Writer {
  readonly name: string;
  readonly mirror: Mirror;
  readonly load: Cost[];
  readonly change: Cost[];
}

interface Cost {
  readonly milliseconds: number;
  /** Bytes of WAL. */
  readonly wal: number;
}

async function writer(stage: Stage, name: string, indexes: readonly string[]): Promise<Writer> {
  const mirror = await openMirror(stage);
  // The first pages make the columns, and warm up.
  for (let turn = 0; turn < WARM; turn += 1)
    await mirror.account.page('research_jobs', page(10_000_000, turn));
  if (indexes.length > 0) await makeIndexes(mirror, columnsOf(indexes));
  return { name, mirror, load: [], change: [] };
}

/** Page by page in turns: what else the machine does hits all variants alike, and the median leaves it out. */
async function writeSpeeds(stage: Stage): Promise<void> {
  const writers: Writer[] = [await writer(stage, 'none', [])];
  for (const index of ALL) writers.push(await writer(stage, `by_${index}`, [index]));
  writers.push(await writer(stage, 'all four', ALL));
  for (const round of [0, 1]) {
    for (let first = 0; first < flags.rows; first += PAGE) {
      for (const { mirror, load, change } of writers) {
        const before = await walPosition(mirror);
        const began = performance.now();
        await mirror.account.page('research_jobs', page(first, round));
        const milliseconds = performance.now() - began;
        const wal = (await walPosition(mirror)) - before;
        (round === 0 ? load : change).push({ milliseconds, wal });
      }
    }
  }
  const [none] = writers;
  const figures = (costs: readonly Cost[], without: readonly Cost[]): string[] => {
    const mid = (some: readonly Cost[], of: keyof Cost): number => median(some.map((cost) => cost[of]));
    const took = mid(costs, 'milliseconds');
    const slower = (100 * (took / mid(without, 'milliseconds') - 1)).toFixed(0);
    return [took.toFixed(1), `${slower} %`, (mid(costs, 'wal') / PAGE).toFixed(0)];
  };
  print(`${flags.rows} research jobs in pages of ${PAGE}, history on; medians of a page`);
  printTable(
    ['indexes', 'new: ms', 'longer', 'WAL B/row', 'changed: ms', 'longer', 'WAL B/row'],
    writers.map(({ name, load, change }) => [
      name,
      ...figures(load, none?.load ?? load),
      ...figures(change, none?.change ?? change),
    ]),
  );
  for (const { mirror } of writers) await mirror.database.close();
}

async function walPosition({ database }: Mirror): Promise<number> {
  const { rows } = await sql<{ bytes: string }>`select pg_current_wal_insert_lsn() - '0/0' as bytes`.execute(
    database.kysely,
  );
  return Number(rows[0]?.bytes);
}

const QUESTIONS: readonly (readonly [string, string])[] = [
  ['key', `select * from mirror.research_jobs_live where _key = '1:4711'`],
  ['status', `select count(*) from mirror.research_jobs_live where status = 'queued'`],
  ['created_at', `select * from mirror.research_jobs_live order by created_at desc limit 50`],
  [
    'changed_at',
    `select * from mirror.research_jobs_live where _changed_at > now() - interval '1 millisecond'`,
  ],
];

async function questions(stage: Stage): Promise<void> {
  const mirror = await openMirror(stage);
  await write(mirror, flags.loaded, 0);
  await sql`vacuum analyze mirror.research_jobs`.execute(mirror.database.kysely);
  const before = [];
  for (const [, question] of QUESTIONS) before.push(await ask(mirror, question));
  const quiet = await pagesDuring(mirror, systemClock.sleep(10_000));
  const begun = performance.now();
  const busy = await pagesDuring(mirror, makeIndexes(mirror, columnsOf(ALL)));
  const took = performance.now() - begun;
  await sql`vacuum analyze mirror.research_jobs`.execute(mirror.database.kysely);
  const stored = await listIndexes(mirror.database.db);
  const rows = await count(mirror);
  const table = [];
  for (const [index, [name, question]] of QUESTIONS.entries()) {
    const bytes = stored.find((each) => each.name === `research_jobs_by_${name}`)?.bytes ?? 0;
    const after = await ask(mirror, question);
    const once = before[index] ?? 0;
    claims.check(after < once, `${name}: ${once.toFixed(1)} ms before, ${after.toFixed(1)} ms after`);
    table.push([`by_${name}`, (bytes / rows).toFixed(1), once.toFixed(1), after.toFixed(1)]);
  }
  print(`\n${rows} research jobs; all four made in ${(took / 1000).toFixed(1)} s beside a writer`);
  printTable(['index', 'bytes a row', 'its question before, ms', 'after, ms'], table);
  print(
    `pages of ${PAGE} changed rows: ${mean(quiet).toFixed(0)} ms (longest ${Math.max(...quiet).toFixed(0)}) before, ` +
      `${mean(busy).toFixed(0)} ms (longest ${Math.max(...busy).toFixed(0)}) while they were made`,
  );
  claims.check(Math.max(...busy) < PATIENCE, 'no page waited for the making of an index');
  await listItems(mirror);
  await mirror.database.close();
}

async function count({ database }: Mirror): Promise<number> {
  const { rows } = await sql<{ n: string }>`select count(*) as n from mirror.research_jobs`.execute(
    database.kysely,
  );
  return Number(rows[0]?.n);
}

/** Milliseconds of each page that is written until `over` is done. */
async function pagesDuring({ account }: Mirror, over: Promise<unknown>): Promise<number[]> {
  const state = { isOver: false };
  const ended = over.finally(() => {
    state.isOver = true;
  });
  const taken: number[] = [];
  for (let first = 0; !state.isOver; first = (first + PAGE) % flags.loaded) {
    const began = performance.now();
    await account.page('research_jobs', page(first, taken.length + 2));
    taken.push(performance.now() - began);
  }
  await ended;
  return taken;
}

/** Bytes a row of the two indexes of list items. */
async function listItems(mirror: Mirror): Promise<void> {
  const lists = 100;
  const each = Math.max(PAGE, Math.trunc(flags.rows / lists / PAGE) * PAGE);
  for (let list = 1; list <= lists; list += 1) {
    for (let first = 0; first < each; first += PAGE) {
      const items = Array.from({ length: PAGE }, (_, index) => ({
        id: `acc_${list * 100_000 + first + index}`,
      }));
      await mirror.account.page('list_items', JSON.stringify(items), { parent: String(list) });
    }
  }
  await makeIndexes(mirror, ['list_items_by_key', 'list_items_by_list_key']);
  const stored = await listIndexes(mirror.database.db);
  const of = (name: string): string =>
    ((stored.find((index) => index.name === name)?.bytes ?? 0) / (lists * each)).toFixed(1);
  print(
    `${lists * each} list items of ${lists} lists: list_items_by_key ${of('list_items_by_key')} bytes a row, ` +
      `list_items_by_list_key ${of('list_items_by_list_key')}`,
  );
}

printMachine();
await onStage(flags.postgres, async (stage) => {
  await writeSpeeds(stage);
  await questions(stage);
});
claims.tell('each question is faster with its index; no page waited for the making of one');
