/**
 * Bytes of each row and version, with their indexes: a mirror as the program loads it from a sandbox, then changes of
 * every job, each a version.
 *
 *     node bench/databases/sizing.ts [--jobs 50000] [--lists 200] [--rounds 2] [--postgres URL]
 */
import type pg from 'pg';
import { STILL } from '@research-mirror/sandbox/testing/sandbox';
import { readFlags } from '../support/flags.ts';
import { Claims, print, printMachine, printTable } from '../support/report.ts';
import { runSync } from '../support/run-sync.ts';
import { onStage, withClient } from '../support/stage.ts';

const flags = readFlags({ jobs: 50_000, lists: 200, rounds: 2, postgres: '' });
const claims = new Claims();

/** Mutations that one call takes. */
const BATCH = 5_000;

interface Size {
  readonly name: string;
  readonly rows: number;
  /** The table with its TOAST, and its indexes, bytes. */
  readonly table: number;
  readonly indexes: number;
  /** Of the item's text. */
  readonly item: number;
}

await onStage(flags.postgres, async (stage) => {
  const sandbox = await stage.sandbox({
    ...STILL,
    jobs: flags.jobs,
    lists: flags.lists,
    itemsPerList: 100,
    watchlist: 5_000,
    limits: 'off',
  });
  await sandbox.control.clock({ freeze: true });
  const url = await stage.database();
  const setting = { sandbox, folder: stage.folder, env: { DATABASE_URL: url } };
  await runSync(setting);
  const first = await withClient(url, (client) => sizes(client));
  const jobs = await withClient(url, async (client) => {
    const { rows } = await client.query<{ id: string; user: number }>(
      'select job_id::text as id, _user_id::int as user from mirror.research_jobs',
    );
    return rows;
  });
  for (let round = 1; round <= flags.rounds; round += 1) {
    for (let from = 0; from < jobs.length; from += BATCH) {
      const changes = jobs.slice(from, from + BATCH).map(
        ({ id, user }) =>
          ({
            op: 'update',
            user,
            collection: 'research_jobs',
            id,
            fields: { note: `round ${round}` },
          }) as const,
      );
      await sandbox.control.mutate(...changes);
    }
    await runSync(setting);
  }
  printMachine();
  const then = await withClient(url, (client) => sizes(client));
  const versions = then.filter(({ name, rows }) => name === 'research_jobs_history' && rows > 0);
  printTable(
    ['table', 'rows', 'bytes a row', 'of these indexes', 'item as text'],
    [...first, ...versions].filter(({ rows }) => rows >= 100).map(lineOf),
  );
  const grown = then.find(({ name }) => name === 'research_jobs');
  if (grown !== undefined) {
    print(`research_jobs after ${flags.rounds} changes of every row, before vacuum full: ${perRow(grown)} B a row`);
  }
  claims.tell('the sizes are those of a mirror that the program has written');
});

function lineOf(size: Size): string[] {
  const share = (100 * size.indexes) / (size.table + size.indexes);
  return [size.name, String(size.rows), String(perRow(size)), `${share.toFixed(0)} %`, `${size.item} B`];
}

function perRow({ table, indexes, rows }: Size): number {
  return Math.round((table + indexes) / rows);
}

async function sizes(client: pg.Client): Promise<Size[]> {
  await client.query('vacuum analyze');
  const { rows: tables } = await client.query<{ name: string }>(`
    select relname as name from pg_class where relnamespace = 'mirror'::regnamespace and relkind = 'r'
      and exists (select from pg_attribute where attrelid = pg_class.oid and attname = '_raw') order by 1`);
  const found: Size[] = [];
  for (const { name } of tables) {
    const { rows } = await client.query<Record<keyof Size, string>>(`
      select count(*) as rows, pg_table_size('mirror.${name}') as table, pg_indexes_size('mirror.${name}') as indexes,
        coalesce(avg(octet_length(_raw::text)), 0)::int as item from mirror.${name}`);
    const [row] = rows;
    if (row === undefined) continue;
    found.push({
      name,
      rows: Number(row.rows),
      table: Number(row.table),
      indexes: Number(row.indexes),
      item: Number(row.item),
    });
  }
  return found;
}
