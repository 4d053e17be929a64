/**
 * A first load and an unchanged full pass where the database is far: what statements that are sent together, and a
 * request that is under way while a page is written are worth.
 *
 *     node bench/mirror/far.ts [--jobs 10000] [--away 5,20] [--postgres URL]
 *
 * A proxy holds every chunk back by half of a round trip of so many milliseconds, in each direction. Round trips are
 * counted: that a connection's client sends something after the server did. Limits lifted, so that nothing else is
 * waited for: at the service's own rate limits a page waits for its slot longer than for any database.
 */
import { STILL } from '@research-mirror/sandbox/testing/sandbox';
import { startProxy } from '../../test/support/network/proxy.ts';
import { runProgram } from '../../test/support/processes/program.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, print, printMachine, printTable } from '../support/report.ts';
import { runSync } from '../support/run-sync.ts';
import { onStage } from '../support/stage.ts';

const flags = readFlags({ jobs: 10_000, away: '5,20', postgres: '' });
const claims = new Claims();

await onStage(flags.postgres, async (stage) => {
  const rows: string[][] = [];
  for (const awayMs of flags.away.split(',').map(Number)) {
    const sandbox = await stage.sandbox({
      ...STILL,
      jobs: flags.jobs,
      lists: 0,
      bulkJobs: 0,
      watchlist: 0,
      limits: 'off',
    });
    await sandbox.control.clock({ freeze: true });
    const url = new URL(await stage.database());
    const { code, stderr } = await runProgram(['migrate'], {
      cwd: stage.folder,
      env: { DATABASE_URL: url.href },
    });
    if (code !== 0) throw new Error(`migrate ended with ${String(code)}:\n${stderr}`);
    const far = await startProxy(Number(url.port));
    far.weather = () => ({ delayMs: awayMs / 2 });
    url.port = String(far.port);
    const env = { DATABASE_URL: url.href, MIRROR_COLLECTIONS: 'research_jobs' };
    for (const phase of ['first load', 'unchanged']) {
      const before = far.roundTrips;
      const run = await runSync({ sandbox, folder: stage.folder, env });
      claims.check(run.items === flags.jobs, `${run.items} items were read instead of ${flags.jobs}`);
      // Of the reading alone: to start and to stop takes as many round trips whatever a page costs.
      const walk = (run.report.collections[0]?.milliseconds ?? Number.NaN) / 1000;
      rows.push([
        `${phase}, ${awayMs} ms`,
        walk.toFixed(2),
        run.cpuSeconds.toFixed(2),
        String(far.roundTrips - before),
      ]);
      print(rows.at(-1)?.join('  ') ?? '');
    }
    await far.close();
    await sandbox.stop();
  }
  printMachine();
  print(`${flags.jobs} research jobs; limits lifted`);
  printTable(['pass and round trip', 'walk s', 'client CPU s', 'round trips'], rows);
  claims.tell('every item is read');
});
