/**
 * A mirror moves from one PostgreSQL to another and back: loaded by the program from a sandbox, with columns for its
 * fields and a day's changes, copied to the other server, and from there to a third database. Every table is compared
 * row by row.
 *
 *     node bench/databases/copy.ts [--jobs 1000000] [--changes 20000] [--postgres URL] [--other URL]
 *
 * `--other`: an empty database on a server of another version; without it the machine's PostgreSQL is started.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { COPIED_TABLES } from '../../src/postgres/citus.ts';
import { STILL } from '@research-mirror/sandbox/testing/sandbox';
import { startMachineServer } from '../../test/support/postgres/machine-postgres.ts';
import { startProgram } from '../../test/support/processes/program.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, print, printMachine, printTable } from '../support/report.ts';
import { AS_LAUNCHED, PRELOAD, runSync } from '../support/run-sync.ts';
import { onStage, type Stage, withClient } from '../support/stage.ts';

const flags = readFlags({ jobs: 1_000_000, changes: 20_000, postgres: '', other: '' });
const claims = new Claims();

/** Columns that a copy changes on purpose. */
const CHANGED = ['owner', 'token', 'recheck', 'change_floor', 'fingerprint', 'nodes', 'held_at', 'held_why', 'state'];

await onStage(flags.postgres, async (stage) => {
  const sandbox = await stage.sandbox({ ...STILL, jobs: flags.jobs, lists: 20, limits: 'off' });
  await sandbox.control.clock({ freeze: true });
  const first = await stage.database();
  const setting = { sandbox, folder: stage.folder, env: { DATABASE_URL: first } };
  await runSync(setting);
  const jobs = await withClient(first, async (client) => {
    const { rows } = await client.query<{ id: string; user: string }>(
      `select job_id::text as id, _user_id::text as user from mirror.research_jobs order by job_id desc limit ${flags.changes}`,
    );
    await client.query(`select mirror.submit('research', '{"company_url": "https://a.example"}')`);
    return rows;
  });
  await sandbox.control.mutate(
    ...jobs.map(
      ({ id, user }) =>
        ({
          op: 'update',
          user: Number(user),
          collection: 'research_jobs',
          id,
          fields: { note: id },
        }) as const,
    ),
  );
  await runSync(setting);
  printMachine();
  const rows: string[][] = [];
  const before = await digests(first);
  print(`${before.rows} rows, ${before.columns} columns in research_jobs, ${megabytes(before.bytes)} MB in Postgres`);
  const other = flags.other === '' ? await startMachineServer() : undefined;
  try {
    const second = other?.url ?? flags.other;
    rows.push(await copy(stage, first, second));
    compare(before, await digests(second));
    const third = await stage.database();
    rows.push(await copy(stage, second, third));
    compare(before, await digests(third));
  } finally {
    await other?.remove();
  }
  printTable(['from', 'to', 'seconds', 'peak memory MB'], rows);
  claims.tell('every row of every table is the same, what was queued is on hold, and memory is bounded (300 MB)');
});

/** Runs `copy`. @returns a line of the table */
async function copy({ folder }: Stage, source: string, target: string): Promise<string[]> {
  const peakFile = join(folder, 'peak');
  await rm(peakFile, { force: true });
  const begin = performance.now();
  const { code, stderr } = await startProgram(['copy'], {
    cwd: folder,
    env: { DATABASE_URL: source, MIRROR_COPY_TO: target, BENCH_PEAK_FILE: peakFile },
    nodeArguments: [...AS_LAUNCHED, '--import', PRELOAD],
  }).ended;
  const seconds = (performance.now() - begin) / 1000;
  if (code !== 0) throw new Error(`copy ended with ${String(code)}: ${stderr}`);
  const peak = Number(await readFile(peakFile, 'utf8'));
  claims.check(peak < 300e6, `copy took ${megabytes(peak)} MB of memory`);
  return [await versionOf(source), await versionOf(target), seconds.toFixed(1), megabytes(peak)];
}

async function versionOf(url: string): Promise<string> {
  const version = await withClient(url, (client) => one(client, `select current_setting('server_version')`));
  return version.split(' ')[0] ?? '';
}

interface Digests {
  /** By table: how many rows, and a sum of their hashes. */
  readonly tables: ReadonlyMap<string, string>;
  readonly rows: number;
  readonly columns: number;
  readonly bytes: number;
}

async function digests(url: string): Promise<Digests> {
  return withClient(url, async (client) => {
    const tables = new Map<string, string>();
    let rows = 0;
    for (const { schema, name, without = [] } of COPIED_TABLES.filter((table) => table.name !== 'recoveries')) {
      const left = [...without, ...(schema === 'state' || name === 'submissions' ? CHANGED : [])];
      const table = `${schema === 'mirror' ? 'mirror' : 'mirror_sync'}.${name}`;
      const count = Number(await one(client, `select count(*) from ${table}`));
      const sum = await one(
        client,
        `select sum(hashtextextended((to_jsonb(t) - '{${left.join()}}'::text[])::text, 0)::numeric)::text from ${table} t`,
      );
      tables.set(table, `${count} rows, ${sum}`);
      rows += count;
    }
    return {
      tables,
      rows,
      columns: Number(
        await one(
          client,
          `select count(*) from pg_attribute where attrelid = 'mirror.research_jobs'::regclass and attnum > 0 and not attisdropped`,
        ),
      ),
      bytes: Number(await one(client, 'select pg_database_size(current_database())')),
    };
  }).then(async (found) => {
    const states = await withClient(url, (client) =>
      one(client, "select string_agg(state, ',') from mirror.submissions"),
    );
    claims.check(['queued', 'held'].includes(states), `submissions are ${states}`);
    return found;
  });
}

function compare(before: Digests, after: Digests): void {
  for (const [table, digest] of before.tables) {
    claims.check(after.tables.get(table) === digest, `${table}: ${digest}, copied ${after.tables.get(table)}`);
  }
}

async function one(client: pg.Client, query: string): Promise<string> {
  const { rows } = await client.query<unknown[]>({ text: query, rowMode: 'array' });
  return String(rows[0]?.[0]);
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
