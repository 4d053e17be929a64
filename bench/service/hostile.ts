/**
 * Items of a megabyte each, in every collection at once, against the daemon under a limited heap: pages just under the
 * greatest body that is held (src/service/transport.ts), and pages of 500 such items, which have to be asked for in parts.
 * Then the mirror is compared with the sandbox's truth, item by item, by Postgres.
 *
 *     node bench/service/hostile.ts [--jobs 500] [--lists 3] [--items 60] [--heap 256] [--postgres URL]
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import type pg from 'pg';
import { TRANSPORT_LIMITS } from '../../src/service/transport.ts';
import { COLLECTIONS, type ListCollection } from '../../src/model/collections.ts';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { startProgram } from '../../test/support/processes/program.ts';
import { STILL, type TestSandbox } from '@research-mirror/sandbox/testing/sandbox';
import { readFlags } from '../support/flags.ts';
import { Claims, print, printMachine, printTable } from '../support/report.ts';
import { programOptions } from '../support/run-sync.ts';
import { onStage, type Stage, withClient } from '../support/stage.ts';

const flags = readFlags({ jobs: 500, lists: 3, items: 60, heap: 256, postgres: '' });
const PRELOAD = new URL('../support/peak-memory.ts', import.meta.url).href;
/** Items that Postgres compares at a time. */
const BATCH = 10;

/** What the memory outside V8's heap may be: bodies, parameters of statements, the program itself. */
const BESIDE_HEAP_MB = 600;

const SIZES = {
  jobs: flags.jobs,
  bulkJobs: flags.items,
  lists: flags.lists,
  itemsPerList: flags.items,
  watchlist: flags.items,
};
const FEW = { jobs: 12, bulkJobs: 4, lists: 2, itemsPerList: 3, watchlist: 4 };
const CASES: readonly { readonly name: string; readonly options: Partial<SandboxOptions> & typeof SIZES }[] = [
  { name: 'pages of 8 MB', options: { ...SIZES, maxLimit: 8 } },
  { name: `pages of ${Math.min(500, flags.jobs)} MB`, options: SIZES },
  { name: 'items of 12 MB', options: { ...FEW, megabytes: 12 } },
];

const claims = new Claims();

await onStage(flags.postgres, async (stage) => {
  const rows: string[][] = [];
  for (const { name, options } of CASES) rows.push([name, ...(await mirrored(stage, name, options))]);
  printMachine();
  print(
    `${flags.jobs} research jobs, ${flags.lists} lists with ${flags.items} items, ${flags.items} watchlist entries and ` +
      `bulk jobs, 1 MB each (items of 12 MB: ${Object.values(FEW).join(', ')}); heap limited to ${flags.heap} MB`,
  );
  printTable(['', 'items', 'MB', 'took', 'requests', 'too large', 'differ', 'peak RSS MB'], rows);
  claims.tell('items of megabytes are mirrored whole in bounded memory, however many a page has');
});

async function mirrored(
  stage: Stage,
  name: string,
  options: Partial<SandboxOptions> & typeof SIZES,
): Promise<string[]> {
  const sandbox = await stage.sandbox({
    ...STILL,
    limits: 'off',
    hostileShare: 1,
    hostileKinds: 'megabyte',
    ...options,
  });
  await sandbox.control.clock({ freeze: true });
  const { jobs, bulkJobs, lists, itemsPerList, watchlist, megabytes = 1 } = options;
  const expected = jobs + bulkJobs + watchlist + lists * (1 + itemsPerList);
  const url = await stage.database();
  const peakFile = join(stage.folder, 'peak');
  const setting = { sandbox, folder: stage.folder, env: { DATABASE_URL: url } };
  const { cwd, env } = programOptions(setting);
  const begun = performance.now();
  const daemon = startProgram(['start'], {
    cwd,
    env: { ...env, MIRROR_HTTP_PORT: '0', MIRROR_POLL_CRON: 'never', BENCH_PEAK_FILE: peakFile },
    nodeArguments: ['--import', PRELOAD, `--max-old-space-size=${flags.heap}`],
  });
  let ended = false;
  daemon.child.once('exit', () => {
    ended = true;
  });
  return withClient(url, async (client) => {
    const state = await eventually(
      `${name}: everything is mirrored`,
      async () => {
        const { rows } = await client
          .query<{ live: number; error: string | null }>(
            'select coalesce(sum(live_rows), 0)::int as live, min(last_error) as error from mirror.freshness',
          )
          .catch(() => ({ rows: [] }));
        const [row] = rows;
        if (row === undefined) return undefined;
        if (row.error !== null) return row.error;
        if (ended) return `ended early:\n${daemon.output()}`;
        return row.live === expected + 1 ? 'complete' : undefined;
      },
      900_000,
    );
    const seconds = (performance.now() - begun) / 1000;
    daemon.child.kill('SIGTERM');
    const { code } = await daemon.ended;
    if (state !== 'complete') throw new Error(`${name}: ${state}`);
    claims.check(code === 0, `${name}: the daemon ended with ${String(code)}`);
    const log = await sandbox.control.log();
    const large = (items: number): boolean => items * megabytes * 1e6 > TRANSPORT_LIMITS.maxBodyBytes;
    const cut = log.filter(({ items }) => items !== null && items > 1 && large(items));
    const { items, bytes, differ } = await compare(client, sandbox);
    claims.check(differ === 0 && items === expected, `${name}: ${differ} of ${items} items differ`);
    const peak = code === 0 ? Number(await readFile(peakFile, 'utf8')) / 1e6 : Number.NaN;
    const bound = flags.heap * 1.05 + BESIDE_HEAP_MB;
    claims.check(peak < bound, `${name}: ${peak.toFixed(0)} MB of memory, more than ${bound.toFixed(0)}`);
    await sandbox.stop();
    return [
      String(items),
      (bytes / 1e6).toFixed(0),
      `${seconds.toFixed(1)} s`,
      String(log.length),
      String(cut.length),
      String(differ),
      peak.toFixed(0),
    ];
  });
}

/** Every item of the sandbox against its row, as Postgres reads both. */
async function compare(
  client: pg.Client,
  sandbox: TestSandbox,
): Promise<{ items: number; bytes: number; differ: number }> {
  const sum = { items: 0, bytes: 0, differ: 0 };
  const lists: string[] = [];
  for (const collection of COLLECTIONS) {
    if (collection.kind === 'single') continue;
    const parents = collection.parent === undefined ? [''] : lists;
    for (const list of parents) {
      for await (const batch of truth(sandbox, collection, list)) {
        sum.items += batch.length;
        sum.bytes += batch.reduce((total, source) => total + source.length, 0);
        sum.differ += await differing(client, collection, list, batch);
        if (collection.name === 'lists') {
          lists.push(...batch.map((source) => /^\{"list_id":(\d+)/.exec(source)?.[1] ?? ''));
        }
      }
    }
  }
  return sum;
}

/** The items of a list, read as they come: all of them are no text that could be held. */
async function* truth(sandbox: TestSandbox, { name }: ListCollection, list: string): AsyncGenerator<readonly string[]> {
  const query = `collection=${name}${list === '' ? '' : `&list=${list}`}`;
  const { body } = await fetch(`${sandbox.controlUrl}/truth?${query}`);
  if (body === null) throw new Error('the sandbox answers nothing');
  let batch: string[] = [];
  for await (const line of createInterface({ input: Readable.fromWeb(body) })) {
    batch.push(line);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function differing(
  client: pg.Client,
  { name, keyField }: ListCollection,
  list: string,
  sources: readonly string[],
): Promise<number> {
  const { rows } = await client.query<{ differ: number }>(
    `select count(*)::int as differ
     from (select source::jsonb as item from unnest($1::text[]) as source) as t
     left join mirror.${name} as m on m.${keyField}::text = t.item ->> '${keyField}' and m._deleted_at is null
       ${list === '' ? '' : `and m.list_id = ${list}`}
     where m._raw is distinct from t.item or m.report is distinct from t.item ->> 'report'`,
    [sources],
  );
  return rows[0]?.differ ?? sources.length;
}
