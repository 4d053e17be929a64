import { startTestSandbox } from '@research-mirror/sandbox/testing/sandbox';
import { systemClock } from '@research-mirror/runtime/clock';
import pg from 'pg';
import { createMigratedTestDatabase } from './support/databases/migrated-database.ts';
import { earlier } from './support/postgres/earlier.ts';
import { createReaderLogin } from './support/postgres/reader-login.ts';
import { makeFolder, runProgram, type Outcome } from './support/processes/program.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { splitStatements } from '../src/postgres/run-migrations.ts';
import { ASKED, LIVE_ROWS } from './browser/first-look-data.ts';
import {
  blocksOf,
  commandsOf,
  comparable,
  countWords,
  missingLine,
  readReadme,
  type Block,
} from './support/readme/readme.ts';
import { ROOT } from './support/rules/source-files.ts';

/** The README may have so many words of prose. */
const MOST_WORDS = 800;

/** Commands that take a machine, a network or minutes: the file that runs each, and what there says so. */
const RUN_ELSEWHERE: Readonly<Record<string, readonly [file: string, says: string]>> = {
  'npm ci': ['.ci/run', 'npm ci'],
  'npm test': ['.ci/run', 'npm test'],
  'npm run demo': ['test/system/demo/demo.test.ts', "shownBelow('npm run demo')"],
  'npm start': ['test/contract/package.test.ts', 'npm start'],
  "echo 'MIRROR_API_URL=https://api.example.com' >> .env": ['test/contract/usage.test.ts', "'.env'"],
  "echo 'MIRROR_API_KEY=…' >> .env": ['test/contract/usage.test.ts', "'.env'"],
};
const PROGRAM = /^(?:npx research-mirror|npm run -s mirror --) +/;

const text = readReadme();
const blocks = blocksOf(text);
const isElsewhere = (command: string): boolean => Object.hasOwn(RUN_ELSEWHERE, command);

let account: Awaited<ReturnType<typeof createReadmeAccount>>;
beforeAll(async () => {
  account = await createReadmeAccount();
});
afterAll(() => account.close());

/** What the program prints. */
async function printed(args: readonly string[]): Promise<string> {
  const outcome = await account.run(args);
  expect(outcome).toMatchObject({ code: 0 });
  return outcome.stdout;
}

/** The words of a line, of which the shell takes quotes away. */
function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '');
}

async function runShell(block: Block): Promise<void> {
  const commands = commandsOf(block);
  const unknown = commands.filter((each) => !PROGRAM.test(each) && !isElsewhere(each));
  expect(unknown, 'run by no test: see RUN_ELSEWHERE').toEqual([]);
  let output = '';
  for (const command of commands.filter((each) => !isElsewhere(each)))
    output += await printed(words(command.replace(PROGRAM, '')));
  // What is run elsewhere is compared there.
  if (block.output === undefined || commands.some(isElsewhere)) return;
  expect(comparable(output)).toEqual(comparable(block.output));
}

async function runSql(block: Block): Promise<void> {
  const statements = splitStatements(block.code).map(({ statement }) => statement);
  if (block.output === undefined) {
    for (const statement of statements) await account.tryOut(statement);
    return;
  }
  let output = '';
  for (const statement of statements) output += await printed(['sql', '--', statement]);
  expect(comparable(output)).toEqual(comparable(block.output));
}

const DAY = 86_400_000;

/** The demo's world, smaller, and growing more slowly. */
const WORLD = {
  limits: 'off',
  jobs: 1000,
  bulkJobs: 40,
  lists: 25,
  itemsPerList: 60,
  watchlist: 120,
  ageDays: 14,
  overlap: 0.5,
  jobCredits: 1,
  newJobsPerMinute: 0.1,
  newBulkJobsPerMinute: 0.01,
  newListsPerMinute: 0,
  newListItemsPerMinute: 0.1,
  newWatchEntriesPerMinute: 0.01,
  scoreChangesPerMinute: 0.1,
  watchChangesPerMinute: 0.02,
  failedShare: 0.08,
  retriedShare: 0.25,
} as const;

/**
 * An account as the demo has it, mirrored since yesterday: the service's clock stands at today's 00:00 UTC, what it has
 * comes of a seed, and the mirror has read it a day before and now. So the same questions get the same answers, but for
 * moments; one that counts by age has to begin at a day's beginning (`current_date - 7`).
 */
async function createReadmeAccount() {
  const today = new Date().setUTCHours(0, 0, 0, 0);
  const yesterday = today - DAY;
  // It runs, since the moments of answers tell a copy from a second reading; what the service has stands still.
  const behind = Date.now() - yesterday;
  const folder = makeFolder();
  const database = await createMigratedTestDatabase();
  const db = new pg.Client({ connectionString: database.url });
  await db.connect();
  const service = await startTestSandbox(
    { ...WORLD, epoch: new Date(yesterday).toISOString() },
    { ...systemClock, now: () => Date.now() - behind },
  );
  const env = { DATABASE_URL: database.url, MIRROR_API_URL: service.url, MIRROR_API_KEY: service.key };
  const run = (args: readonly string[], more = {}): Promise<Outcome> =>
    runProgram(args, { cwd: folder.path, env: { ...env, ...more } });
  const succeed = async (args: readonly string[], more = {}): Promise<void> => {
    const { code, stderr } = await run(args, more);
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
  };

  await service.control.clock({ freeze: true, set: new Date(yesterday + 60_000).toISOString() });
  await succeed(['sync', '--full']);
  await aDayPasses(db);
  await service.control.clock({ set: new Date(today).toISOString() });
  const [list = ''] = await service.control.truth({ collection: 'lists' });
  const { list_id: id } = JSON.parse(list) as { list_id: number };
  await service.control.mutate({ op: 'delete', collection: 'lists', id: String(id) });
  await succeed(['submit', 'research', '--data', '{"company_url": "https://example.com"}']);
  await succeed(['sync', '--full'], { MIRROR_SETTLE: '1s' });
  const reader = await createReaderLogin(database.url);
  return {
    /** Runs a command where the account is mirrored, `sql` as somebody who may only read. */
    run: (args: readonly string[]) => run(args, args[0] === 'sql' ? { DATABASE_URL: reader.url } : {}),
    /** Runs a statement as the tables' owner, and takes it back. @throws what Postgres refuses */
    async tryOut(statement: string) {
      await db.query('begin');
      try {
        await db.query(statement);
      } finally {
        await db.query('rollback');
      }
    },
    async close() {
      await reader.drop();
      await Promise.all([db.end(), service.stop()]);
      await database.drop();
      folder.remove();
    },
  };
}

/** What the mirror has done so far it did a day before. */
async function aDayPasses(db: pg.Client): Promise<void> {
  const { rows } = await db.query<{ table: string; columns: string[] }>(
    `select c.table_name as table, array_agg(c.column_name::text) as columns
     from information_schema.columns c
     join information_schema.tables t using (table_schema, table_name)
     where t.table_schema = 'mirror' and t.table_type = 'BASE TABLE'
       and c.column_name in ('_first_seen_at', '_changed_at', 'mirrored_from', 'history_from')
     group by 1`,
  );
  for (const { table, columns } of rows) {
    const sets = columns.map((column) => `${column} = ${earlier(column, '1 day')}`);
    await db.query(`update mirror.${table} set ${sets.join(', ')}`);
  }
}

it.each(blocks.map((block) => [block.language, block.code.split('\n', 1)[0] ?? '', block] as const))(
  'the README has code that does what it shows: %s, %s',
  async (language, _, block) => {
    if (language === 'sh') await runShell(block);
    else if (language === 'sql') await runSql(block);
    // A drawing, or an output whose command stands elsewhere.
    else expect(['', 'text']).toContain(language);
  },
);

it('the README names for each command that is run elsewhere where that is', () => {
  const wrong = Object.values(RUN_ELSEWHERE).filter(
    ([file, says]) => !readFileSync(join(ROOT, file), 'utf8').includes(says),
  );
  expect(wrong).toEqual([]);
  const shown = new Set(blocks.filter(({ language }) => language === 'sh').flatMap(commandsOf));
  expect(Object.keys(RUN_ELSEWHERE).filter((command) => !shown.has(command))).toEqual([]);
});

it(`the README has ${MOST_WORDS} words of prose at most`, () => {
  expect(countWords(text)).toBeLessThanOrEqual(MOST_WORDS);
});

it.each(ASKED)('the picture of the README shows what the mirror answers: $query', async ({ query, answer }) => {
  expect(comparable(answer)).toEqual(comparable(await printed(['sql', '--', query])));
});

it('the picture of the README shows the rows that there are', async () => {
  const rows = Object.entries(LIVE_ROWS).map(([collection, count]) => `${collection},${count}`);
  const stored = await printed(['sql', '--csv', 'select collection, live_rows from freshness']);
  expect(stored.trimEnd().split('\r\n').slice(1).toSorted()).toEqual(rows.toSorted());
});

it('the picture of the README is small enough for a page, and as wide as one', () => {
  const picture = readFileSync(join(ROOT, 'docs', 'images', 'first-look.png'));
  expect(picture.length).toBeLessThanOrEqual(250 * 1024);
  // The width of a PNG.
  expect(picture.readUInt32BE(16)).toBe(1600);
});

it('how the README is read compares figures and words, in the form of psql, too, but no moments', () => {
  const ours = 'day         jobs\n──────────  ────\n2026-03-01    12\n(1 row)\n';
  const psql = '    day     | jobs \n------------+------\n 2026-04-30 |   12\n(1 row)\n\n';
  expect(comparable(psql)).toEqual(comparable(ours));
  expect(comparable(ours.replace('12', '13'))).not.toEqual(comparable(ours));
});

it('how the README is read finds the line that an output lacks behind others, figures aside', () => {
  const output = 'starting …\npage http://127.0.0.1:29050/\n1,000 rows\n';
  expect(missingLine('page http://127.0.0.1:8080/\n…\n25 rows\n', output)).toBeUndefined();
  expect(missingLine('1 rows\nstarting …\n', output)).toBe('starting …');
});
