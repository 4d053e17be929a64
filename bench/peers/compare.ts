/**
 * The mirror beside its peers, from HTTP to rows: a list of the emulated service into Postgres, by each of them, in
 * five steps: first load, unchanged, 1 % changed, 1 % new on top, 0.1 % deleted. Packages of others are installed
 * beside the checkout, from PyPI and npm, and kept there. Linux only: processor time and memory come from /proc.
 *
 *     node bench/peers/compare.ts [--rows 100000] [--peers ours,copy,naive,…] [--postgres URL] [--scratch FOLDER]
 *                                 [--results bench/RESULTS.md] [--quick]
 *
 * `--postgres` names a superuser: each step begins with a checkpoint. The results are written into the file named
 * (`--results ''`: none), after each peer, so that a run that is broken off leaves what it had. `--quick`: 10,000 rows,
 * without the peers that have to be installed with Python, and no file. It ends with 1 where ours is not equal to the
 * source after a step, or writes a row that had not changed.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { ROOT } from '../../test/support/rules/source-files.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, machine, print, printTable } from '../support/report.ts';
import { onStage, type Stage, withClient } from '../support/stage.ts';
import { NOT_MEASURED, PEERS } from './catalogue.ts';
import { grouped } from './load.ts';
import { measurePeer, type Measured } from './measure-peer.ts';
import type { Peer } from './peer.ts';
import { differenceText, overview, resultsPage, tablesByStep } from './results.ts';

const QUICK = ['ours', 'copy', 'naive', 'naive-guarded'];
const RESULTS = join(ROOT, 'bench', 'RESULTS.md');

const flags = readFlags({
  rows: 0,
  peers: '',
  postgres: '',
  scratch: join(tmpdir(), 'research-mirror-peers'),
  results: 'default',
  quick: false,
});
const rows = flags.rows > 0 ? flags.rows : flags.quick ? 10_000 : 100_000;
const names = flags.peers !== '' ? flags.peers.split(',') : flags.quick ? QUICK : PEERS.map(({ name }) => name);
const results = flags.results !== 'default' ? flags.results : flags.quick ? '' : RESULTS;
const peers = names.map(chosen);
if (process.platform !== 'linux') fail('it needs Linux: processor time and memory come from /proc');
await mkdir(flags.scratch, { recursive: true });

const claims = new Claims();
const all: Measured[] = [];
const loads = [load()];
let server = '';
let isInterrupted = false;
process.once('SIGINT', () => {
  isInterrupted = true;
});

const measureAll = async (stage: Stage): Promise<void> => {
  // A run beside an installation would be a run on a busy machine.
  const prepared = new Map<Peer, Awaited<ReturnType<Peer['prepare']>>>();
  for (const peer of peers) prepared.set(peer, await peer.prepare(resolve(flags.scratch)));
  server = await withClient(await stage.database(), async (client) => {
    const { rows } = await client.query<{ version: string; wal: string }>(
      `select current_setting('server_version') as version, current_setting('wal_level') as wal`,
    );
    const [{ version, wal } = { version: '', wal: '' }] = rows;
    return `PostgreSQL ${version} (${flags.postgres === '' ? 'embedded, ' : ''}wal_level ${wal})`;
  });
  for (const [peer, ready] of prepared) {
    loads.push(load());
    const measured = await measurePeer(stage, peer, ready, rows);
    all.push(measured);
    claim(measured);
    await writeResults();
  }
};
// As on most servers: under `minimal`, which is the embedded one's own, a COPY into a truncated table is not logged.
await onStage(flags.postgres, measureAll, { wal_level: 'replica' });
loads.push(load());
await writeResults();

print(`${machine()}; ${server}`);
print(`${grouped(rows)} research jobs, pages of 500, limits lifted`);
for (const { name, titles, rows } of [overview(all), ...tablesByStep(all)]) {
  print(`\n${name}`);
  printTable(titles, rows);
}
if (peers.some(({ isOurs }) => isOurs)) {
  claims.tell('ours is equal to the source after each step, and nothing unchanged is written');
}

async function writeResults(): Promise<void> {
  // Whoever was under way seems to have failed then.
  if (results === '' || isInterrupted) return;
  const asked = process.argv.slice(2).join(' ');
  const program = relative(ROOT, process.argv[1] ?? '');
  const command = `npm exec -- node ${program}${asked === '' ? '' : ` ${asked}`}`;
  const head = { machine: machine(), command, server, load: loads.join(', ') };
  await writeFile(results, resultsPage(all, head, NOT_MEASURED));
}

function claim({ peer, steps, failure }: Measured): void {
  if (peer.isOurs !== true) return;
  claims.check(failure === undefined, `${peer.title} fails: ${failure ?? ''}`);
  for (const [index, { step, rowsWritten, difference }] of steps.entries()) {
    const told = differenceText(difference);
    claims.check(told === 'equal', `${peer.title}, ${step}: ${told}`);
    // The second step is the one in which nothing has changed.
    claims.check(index !== 1 || rowsWritten === 0, `${peer.title}, ${step}: ${rowsWritten} rows written`);
  }
}

function chosen(name: string): Peer {
  const known = PEERS.map((peer) => peer.name).join(', ');
  return PEERS.find((peer) => peer.name === name) ?? fail(`there is no peer ${JSON.stringify(name)}: ${known}`);
}

function load(): string {
  return (loadavg()[0] ?? 0).toFixed(1);
}

function fail(why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(2);
}
