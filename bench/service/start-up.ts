/**
 * What it costs to start: wall time, processor time of the launcher and the program (user and system), and their peak
 * memory, for commands that have little else to do, on a mirror that is there and current.
 *
 *     npm run build && npm exec -- node bench/service/start-up.ts [--runs 15] [--node /usr/bin/node] [--root FOLDER]
 *       [--jobs 200] [--lists 25] [--postgres URL]
 *
 * `--root`: the checkout or the installed package whose launcher is measured (this one); built or not, as it is.
 * `--node`: the Node that runs the launcher. Medians; the first run of each is not counted. Linux only: processor time
 * until a daemon is ready is read from /proc.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { get } from 'node:http';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sourceHash } from '../../bin/source-hash.js';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { readFlags } from '../support/flags.ts';
import { treeSeconds } from '../support/processor-time.ts';
import { median, print, printMachine, printTable } from '../support/report.ts';
import { onStage } from '../support/stage.ts';
import { ROOT } from '../../test/support/rules/source-files.ts';

interface Cost {
  readonly wall: number;
  /** Seconds, of all processes together. */
  readonly cpu: number;
}

const LOOK_MS = 2;
const MiB = 1024 * 1024;

const flags = readFlags({ runs: 15, node: process.execPath, root: ROOT, jobs: 200, lists: 25, postgres: '' });
const launcher = join(resolve(flags.root), 'bin', 'research-mirror.js');

printMachine();
print(`${isBuilt(resolve(flags.root)) ? 'the bundle' : 'the sources'}, launched by ${flags.node}`);
await onStage(flags.postgres, async (stage) => {
  const sandbox = await stage.sandbox({ jobs: flags.jobs, lists: flags.lists, limits: 'off' });
  const port = await nonEphemeralPort();
  const account = {
    MIRROR_API_URL: sandbox.url,
    MIRROR_API_KEY: sandbox.key,
    MIRROR_HTTP_PORT: String(port),
  };
  const server = { ...account, DATABASE_URL: await stage.database() };
  const embedded = { ...account, MIRROR_PG_PORT: String(await nonEphemeralPort()) };
  for (const env of [server, embedded]) await run(['sync', '--full'], env, stage.folder);
  const rows: string[][] = [];
  const row = async (title: string, args: readonly string[], env: Record<string, string>): Promise<void> => {
    const costs: Cost[] = [];
    for (let index = 0; index <= flags.runs; index += 1) {
      const cost = await (args[0] === 'start'
        ? untilReady(args, env, stage.folder, port)
        : run(args, env, stage.folder));
      if (index > 0) costs.push(cost);
    }
    const peak = args[0] === 'start' ? '' : (await peakOf(args, env, stage.folder)).toFixed(0);
    rows.push([title, seconds(costs.map(({ wall }) => wall)), seconds(costs.map(({ cpu }) => cpu)), peak]);
  };
  await row('--version', ['--version'], server);
  await row('--help', ['--help'], server);
  await row('status', ['status'], server);
  await row('status, which starts the embedded server', ['status'], embedded);
  await row('sql "select 1"', ['sql', 'select 1'], embedded);
  await row(`sync with nothing to do, ${flags.lists} lists`, ['sync'], server);
  await row('start, until ready', ['start'], server);
  printTable(['command', 'wall s', 'CPU s', 'peak MB'], rows);
});

function seconds(values: readonly number[]): string {
  return median(values).toFixed(2);
}

/** As the launcher decides. */
function isBuilt(root: string): boolean {
  if (!existsSync(join(root, 'src'))) return true;
  const stamp = join(root, 'dist', 'program', 'sources.sha256');
  return existsSync(stamp) && readFileSync(stamp, 'utf8').trim() === sourceHash(root);
}

function environment(env: Readonly<Record<string, string>>, folder: string): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: folder, ...env };
}

/** Bash tells the processor time of what it has waited for, of processes below it, too. */
function run(args: readonly string[], env: Readonly<Record<string, string>>, cwd: string): Promise<Cost> {
  const script = `TIMEFORMAT='%R %U %S'; time "$@" >/dev/null 2>&1`;
  return new Promise((done, fail) => {
    execFile(
      'bash',
      ['-c', `${script}; exit $?`, 'bash', flags.node, launcher, ...args],
      { cwd, env: environment(env, cwd), encoding: 'utf8' },
      (error, _, stderr) => {
        const [wall = 0, user = 0, system = 0] = stderr.trim().split(' ').map(Number);
        // 1: a status that finds something wrong.
        if (error !== null && error.code !== 1) fail(new Error(`${args.join(' ')}: ${error.message}`));
        else done({ wall, cpu: user + system });
      },
    );
  });
}

/** Megabytes that launcher and program have had at most, added up: they live side by side. */
async function peakOf(args: readonly string[], env: Readonly<Record<string, string>>, cwd: string): Promise<number> {
  const file = join(cwd, 'peaks');
  await rm(file, { force: true });
  const preload =
    `import{appendFileSync}from'node:fs';process.on('exit',()=>` +
    `appendFileSync(${JSON.stringify(file)},process.resourceUsage().maxRSS*1024+'\\n'))`;
  await run(args, { ...env, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(preload)}` }, cwd);
  const peaks = (await readFile(file, 'utf8')).trim().split('\n').map(Number);
  return peaks.reduce((sum, peak) => sum + peak, 0) / MiB;
}

async function untilReady(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
  port: number,
): Promise<Cost> {
  const begun = performance.now();
  const child = spawn(flags.node, [launcher, ...args], { cwd, env: environment(env, cwd), stdio: 'ignore' });
  const ended = new Promise((done) => {
    child.once('exit', done);
  });
  try {
    while (!(await isReady(port))) {
      if (child.exitCode !== null) throw new Error(`start ended with ${child.exitCode}`);
      await sleep(LOOK_MS);
    }
    return { wall: (performance.now() - begun) / 1000, cpu: treeSeconds(child.pid ?? 0) };
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

function isReady(port: number): Promise<boolean> {
  return new Promise((done) => {
    get({ host: '127.0.0.1', port, path: '/readyz' }, (answer) => {
      answer.resume();
      done(answer.statusCode === 200);
    }).on('error', () => done(false));
  });
}
