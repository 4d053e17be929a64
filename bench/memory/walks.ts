/**
 * Memory of a full walk over research jobs that the mirror has already, by how many there are and by what is known of
 * their order: `trusted` (what is missing is proven page by page), `usable`, `unordered` (two equal walks prove it, so
 * a walk remembers what it saw). The rows are put into Postgres by SQL, with the hashes of the service's items and
 * without their other columns; the walk finds nothing changed.
 *
 *     node bench/memory/walks.ts [--rows 100000,300000,1000000] [--orders trusted,usable,unordered] [--live 0]
 *       [--node '--max-semi-space-size=4'] [--postgres URL]
 *
 * `--live 1` collects garbage each 2 s, and tells what remains, which costs a second walk.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type pg from 'pg';
import { ARENAS } from '../../bin/heap.js';
import { AS_LAUNCHED } from '../support/run-sync.ts';
import { startProgram } from '../../test/support/processes/program.ts';
import { readFlags } from '../support/flags.ts';
import { ITEM_HEAD, ITEM_MIDDLE, ITEM_TAIL } from '../support/memory/generated-items.ts';
import type { MemorySamples } from '../support/memory/memory-samples.ts';
import { Claims, print, printMachine, printTable, quantile } from '../support/report.ts';
import { onStage, withClient } from '../support/stage.ts';

const ORDERS = ['trusted', 'usable', 'unordered'] as const;
type Order = (typeof ORDERS)[number];
/** The most (MB) that a walk may take, however long it is. */
const MOST_MB = 180;

const flags = readFlags({
  rows: '100000,300000,1000000',
  orders: ORDERS.join(),
  live: 0,
  node: '',
  postgres: '',
});
const claims = new Claims();
/** The service's, as of its first start: an account is mirrored from one address. */
let port = 0;

await onStage(flags.postgres, async (stage) => {
  const url = await stage.database();
  const table: string[][] = [];
  for (const count of flags.rows.split(',').map(Number)) {
    await withClient(url, (client) => client.query('drop schema if exists mirror, mirror_sync cascade'));
    await walk(stage.folder, url, Math.min(count, 500), 'usable', false);
    await withClient(url, (client) => fill(client, count));
    for (const order of flags.orders.split(',') as Order[]) {
      await withClient(url, (client) => setOrder(client, order));
      const { samples, seconds, report } = await walk(stage.folder, url, count, order, false);
      let live = '';
      if (flags.live > 0) {
        await withClient(url, (client) => setOrder(client, order));
        const again = await walk(stage.folder, url, count, order, true);
        live = megabytes(Math.max(...again.samples.live));
      }
      const peak = megabytes(samples.peakBytes);
      claims.check(Number(peak) <= MOST_MB, `${order}, ${count} rows: ${peak} MB`);
      const [read] = report.collections;
      claims.check(read?.items === count, `${order}, ${count} rows: ${String(read?.items)} items were read`);
      claims.check(read?.inserted === 0 && read.updated === 0, `${order}, ${count} rows: some were written`);
      const part = (share: number): string => megabytes(quantile(samples.resident.slice(0, -1), share));
      table.push([
        order,
        String(count),
        `${seconds.toFixed(1)} s`,
        String(Math.round(count / seconds)),
        samples.cpuSeconds.toFixed(1),
        ...[0.25, 0.5, 0.75, 0.99].map(part),
        peak,
        live,
      ]);
      print(table.at(-1)?.join('  ') ?? '');
    }
  }
  printMachine();
  const titles = [
    'order',
    'rows',
    'took',
    'rows/s',
    'CPU s',
    'MB at 25 %',
    '50 %',
    '75 %',
    '99 %',
    'peak MB',
    'live MB',
  ];
  printTable(titles, table);
  claims.tell(`a walk takes ${MOST_MB} MB at most`);
});

interface Report {
  readonly collections: readonly {
    readonly items: number;
    readonly inserted: number;
    readonly updated: number;
  }[];
}

async function walk(
  folder: string,
  url: string,
  count: number,
  order: Order,
  live: boolean,
): Promise<{ samples: MemorySamples; seconds: number; report: Report }> {
  const script = new URL('../support/memory/generated-service.ts', import.meta.url).pathname;
  const service = spawn(process.execPath, [script, String(count), order, String(port)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(createInterface({ input: service.stdout }), 'line')) as [string];
    port = Number(line);
    const file = join(folder, 'memory');
    const preload = new URL('../support/memory/memory-samples.ts', import.meta.url).href;
    const begin = performance.now();
    const { ended } = startProgram(['sync', 'research_jobs', '--full', '--json'], {
      cwd: folder,
      env: {
        ...ARENAS,
        MIRROR_API_URL: `http://127.0.0.1:${port}`,
        MIRROR_API_KEY: 'key-42',
        MIRROR_BUDGET_SHARE: '1',
        DATABASE_URL: url,
        BENCH_MEMORY_FILE: file,
      },
      nodeArguments: [
        ...AS_LAUNCHED,
        ...(live ? ['--expose-gc'] : []),
        ...flags.node.split(' ').filter((each) => each !== ''),
        '--import',
        preload,
      ],
    });
    const { code, stdout, stderr } = await ended;
    const seconds = (performance.now() - begin) / 1000;
    if (code !== 0) throw new Error(`sync ended with ${String(code)}:\n${stdout}${stderr}`);
    const samples = JSON.parse(await readFile(file, 'utf8')) as MemorySamples;
    return { samples, seconds, report: JSON.parse(stdout) as Report };
  } finally {
    service.kill();
  }
}

/** Gives the mirror all jobs, as if an earlier walk had read them. */
async function fill(client: pg.Client, count: number): Promise<void> {
  const text = `${quoted(ITEM_HEAD)} || id || ${quoted(ITEM_MIDDLE)} || id || ${quoted(ITEM_TAIL)}`;
  await client.query(`
    insert into mirror.research_jobs (_user_id, job_id, _first_seen_at, _changed_at, _change_id, _hash, _raw)
    select 42, id, timestamptz '2026-01-01', timestamptz '2026-01-01', id,
      substring(sha256(convert_to(${text}, 'UTF8')) for 16), '{}'
    from generate_series(1, ${count}) as id on conflict do nothing`);
  await client.query(`update mirror_sync.scope set live_rows = ${count} where collection = 'research_jobs'`);
  await client.query(`update mirror._collections set live_rows = ${count} where collection = 'research_jobs'`);
  await client.query('vacuum analyze mirror.research_jobs');
}

/** Gives the scope the evidence of that order, and takes the checkpoint of no walk. */
async function setOrder(client: pg.Client, order: Order): Promise<void> {
  const evidence = {
    direction: order === 'unordered' ? null : 'falling',
    inOrder: order === 'unordered' ? 0 : 20,
    inPlace: order === 'trusted' ? 3 : 0,
    fromStart: false,
    doubt: false,
    contradicted: false,
  };
  await client.query(
    `update mirror_sync.scope set memory = memory || jsonb_build_object('evidence', $1::text::jsonb)
     where collection = 'research_jobs'`,
    [JSON.stringify(evidence)],
  );
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
