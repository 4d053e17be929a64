import { pageRecord } from '../../test/support/mirror/page-record.ts';
/**
 * A page of which Postgres refuses some items, written over a way to the database that is far (docs/design/what-does-not-fit.md,
 * "Quarantine"): how long until it is committed, and in how many round trips. The write path alone, without HTTP and walk.
 *
 *     node bench/mirror/refused.ts [items, 100] [KB a second, none]
 *
 * A proxy holds every chunk back by half of the round trip's time, in each direction. An item is refused by a check that
 * a DBA could have added. Ends with 1 where a page is not committed with all its good items.
 */
import { sql } from 'kysely';
import { openDatabase } from '../../src/postgres/pool.ts';
import { Mirror } from '../../src/mirror/mirror.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import { startProxy } from '../../test/support/network/proxy.ts';
import { openTable, withServer } from '../../test/attack/support/server.ts';
import { itemsOf, noFields } from '../../test/support/mirror/mirrored-account.ts';
import { print, printMachine } from '../support/report.ts';

const [items = 100, kilobytes] = process.argv.slice(2).map(Number);
const ROUND_TRIPS_MS = [0, 20, 60];
const REFUSED = [0, 1, 10, 50, items];

function pageOf(refused: number): string {
  const each = Math.floor(items / Math.max(1, refused));
  const rows = Array.from({ length: items }, (_, index) => ({
    job_id: 1_000_000 - index,
    status: 'completed',
    company_url: `https://www.company-${index}.example`,
    company_name: `Company ${index} Incorporated`,
    score: index / 1000,
    tags: ['b2b', 'software'],
    bad: refused > 0 && index % each === 0 && index / each < refused,
    summary: 'It has grown every year since it began. '.repeat(15),
  }));
  return JSON.stringify(rows);
}

printMachine();
print(
  `a page of ${items} items${kilobytes === undefined ? '' : `, ${kilobytes} KB a second`}; seconds until it is committed`,
);
await withServer(async (server) => {
  const url = await server.database();
  const table = await openTable(url);
  await table.db.query(`alter table mirror.research_jobs add check ((_raw -> 'bad') <> 'true')`);
  const proxy = await startProxy(Number(new URL(url).port));
  const through = Object.assign(new URL(url), { port: String(proxy.port) }).href;
  let user = 0;
  const write = async (refused: number): Promise<string> => {
    user += 1;
    await table.db.query(
      `insert into mirror_sync.account (_user_id, owner, token, created_at) values ($1, 'bench', 1, now())`,
      [user],
    );
    const far = await openDatabase({ url: through, schema: 'mirror', program: 'bench' });
    const mirror = new Mirror(far.db, {
      schemaDrift: 'add',
      ignoreFields: noFields(),
      excludeFields: noFields(),
      gracePeriodMs: 60_000,
      deletes: 'soft',
      history: true,
      clock: systemClock,
    });
    const fence = { userId: String(user), owner: 'bench', token: '1' };
    const page = async (obs: number, json: string): Promise<void> => {
      const scope = { userId: fence.userId, collection: 'research_jobs', parent: '' } as const;
      const items = itemsOf('research_jobs', json);
      const sentAfter = systemClock.monotonic();
      await mirror.applyPage(fence, pageRecord({ scope, obs, after: obs - 1 }, { items, sentAfter }));
    };
    try {
      await sql`
        insert into mirror_sync.scope (_user_id, collection, parent) values (${user}, 'research_jobs', '')
        on conflict do nothing`.execute(table.database.kysely);
      // The columns are there, the connection is warm.
      await page(1, JSON.stringify([{ ...JSON.parse(pageOf(0))[0], job_id: 1 }]));
      const begin = performance.now();
      await page(2, pageOf(refused));
      const took = (performance.now() - begin) / 1000;
      const { rows } = await table.db.query<{ good: number; bad: number }>(
        `select (select count(*)::int from mirror.research_jobs where _user_id = $1) as good,
           (select count(*)::int from mirror.quarantine where _user_id = $1) as bad`,
        [user],
      );
      const whole = rows[0]?.good === items - refused + 1 && rows[0].bad === refused;
      if (!whole) process.exitCode = 1;
      return `${took.toFixed(2)}${whole ? '' : ' (not whole)'}`;
    } catch (error) {
      process.exitCode = 1;
      return `never: ${messageOf(error).slice(0, 60)}`;
    } finally {
      await far.close();
    }
  };
  print(`| refused | ${ROUND_TRIPS_MS.map((ms) => `${ms} ms`).join(' | ')} |`);
  print(`|---|${ROUND_TRIPS_MS.map(() => '---').join('|')}|`);
  for (const refused of REFUSED) {
    const cells: string[] = [];
    for (const ms of ROUND_TRIPS_MS) {
      proxy.weather = () => ({
        delayMs: ms / 2,
        ...(kilobytes === undefined ? {} : { bytesPerSecond: kilobytes * 1024 }),
      });
      cells.push(await write(refused));
    }
    print(`| ${refused} | ${cells.join(' | ')} |`);
  }
  await proxy.close();
  await table.close();
});
