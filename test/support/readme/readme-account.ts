import { startTestSandbox } from '@research-mirror/sandbox/testing/sandbox';
import { systemClock } from '@research-mirror/runtime/clock';
import pg from 'pg';
import { createMigratedTestDatabase } from '../databases/migrated-database.ts';
import { earlier } from '../postgres/earlier.ts';
import { createReaderLogin } from '../postgres/reader-login.ts';
import { makeFolder, runProgram, type Outcome } from '../processes/program.ts';

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
export interface ReadmeAccount {
  /** Runs a command where the account is mirrored, `sql` as somebody who may only read. */
  run(args: readonly string[]): Promise<Outcome>;
  /** Runs statements as the tables' owner, and takes all back. @throws what Postgres refuses */
  tryOut(statement: string): Promise<void>;
  close(): Promise<void>;
}

export async function createReadmeAccount(): Promise<ReadmeAccount> {
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
    run: (args) => run(args, args[0] === 'sql' ? { DATABASE_URL: reader.url } : {}),
    async tryOut(statement) {
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
