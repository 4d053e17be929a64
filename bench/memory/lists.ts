/**
 * Memory of an account with very many lists, each a scope of its own: `sync` of lists and their items, limits lifted,
 * at first and again, when nothing has changed.
 *
 *     node bench/memory/lists.ts [--lists 1000,10000] [--items 5] [--postgres URL]
 */
import { STILL } from '@research-mirror/sandbox/testing/sandbox';
import { readFlags } from '../support/flags.ts';
import { Claims, print, printMachine, printTable } from '../support/report.ts';
import { runSync } from '../support/run-sync.ts';
import { onStage, type Stage } from '../support/stage.ts';

const flags = readFlags({ lists: '1000,10000', items: 5, postgres: '' });
const claims = new Claims();

await onStage(flags.postgres, async (stage) => {
  const table: string[][] = [];
  for (const lists of flags.lists.split(',').map(Number)) table.push(...(await readings(stage, lists)));
  printMachine();
  print(`lists of ${flags.items} items; limits lifted`);
  printTable(['lists', 'sync', 'took', 'requests a second', 'CPU s', 'peak MB'], table);
  claims.tell('all items are read, and again');
});

async function readings(stage: Stage, lists: number): Promise<string[][]> {
  const items = lists * flags.items;
  const sandbox = await stage.sandbox({
    ...STILL,
    jobs: 0,
    bulkJobs: 0,
    watchlist: 0,
    lists,
    itemsPerList: flags.items,
    limits: 'off',
  });
  await sandbox.control.clock({ freeze: true });
  const env = { DATABASE_URL: await stage.database(), MIRROR_COLLECTIONS: 'lists,list_items' };
  const table: string[][] = [];
  for (const sync of ['first', 'again']) {
    const { report, pages, seconds, cpuSeconds, peakBytes } = await runSync({
      sandbox,
      folder: stage.folder,
      env,
    });
    const read = report.collections.find(({ collection }) => collection === 'list_items')?.items;
    claims.check(read === items, `${lists} lists, ${sync}: ${String(read)} items instead of ${items}`);
    table.push([
      String(lists),
      sync,
      `${seconds.toFixed(0)} s`,
      (pages / seconds).toFixed(0),
      cpuSeconds.toFixed(1),
      (peakBytes / 1e6).toFixed(0),
    ]);
    print(table.at(-1)?.join('  ') ?? '');
  }
  await sandbox.stop();
  return table;
}
