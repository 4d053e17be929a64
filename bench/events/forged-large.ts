/**
 * Forged mebibytes of the shapes that cost most, with signatures in every form, against the real daemon at rising rates.
 * The service signs by canonical JSON: the form that is dearest to check. Beside the flood it delivers
 * an event each 100 ms, the daemon's heartbeat, event loop and memory are watched, and a full pass is timed.
 *
 *     node bench/events/forged-large.ts [--seconds 30] [--postgres URL]
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { type ProgramOptions, startProgram } from '../../test/support/processes/program.ts';
import { STILL } from '@research-mirror/sandbox/testing/sandbox';
import { readFlags } from '../support/flags.ts';
import { mebibytes, type Statuses } from '../support/mebibytes.ts';
import { Claims, printMachine, printTable, quantile } from '../support/report.ts';
import { programOptions } from '../support/run-sync.ts';
import { onStage, withClient } from '../support/stage.ts';

const flags = readFlags({ seconds: 30, postgres: '' });
const RATES = [0, 4, 50, 500];
const LOOP_DELAY = new URL('../support/loop-delay.ts', import.meta.url).href;
/** A genuine event, and a look at the heartbeat, each so many milliseconds. */
const GENUINE_MS = 100;
/** Heartbeats come each 4 s, and a process may send for 10 s after one. */
const BEAT_S = 4;
const MOST_LATE_S = 4;

const claims = new Claims();

await onStage(flags.postgres, async (stage) => {
  const sandbox = await stage.sandbox({
    ...STILL,
    limits: 'off',
    jobs: 5_000,
    lists: 3,
    signature: 'canonical-json',
    deliveryRetries: 20,
    deliveryRetryMs: 1_000,
  });
  await sandbox.control.clock({ freeze: true });
  const port = await nonEphemeralPort();
  const loopFile = join(stage.folder, 'loop');
  const url = await stage.database();
  const options = programOptions({ sandbox, folder: stage.folder, env: { DATABASE_URL: url } });
  const daemon = startProgram(['start'], {
    ...options,
    env: {
      ...options.env,
      MIRROR_HTTP_PORT: '0',
      MIRROR_WEBHOOK_PORT: String(port),
      MIRROR_PUBLIC_URL: `http://127.0.0.1:${port}`,
      BENCH_LOOP_FILE: loopFile,
    },
    nodeArguments: ['--import', LOOP_DELAY],
  });
  const target = { port, userId: sandbox.userId };
  const rows: string[][] = [];
  await withClient(url, async (client) => {
    const figure = async (query: string): Promise<number> =>
      Number((await client.query<{ figure: string }>(query)).rows[0]?.figure ?? 0);
    const beatAge = (): Promise<number> =>
      figure(`select extract(epoch from clock_timestamp() - (alive_until - interval '12 s')) as figure
        from mirror_sync.process where command = 'start'`);
    await eventually('a registration', () => sandbox.control.webhook().then((webhook) => webhook !== null));
    await sandbox.control.emit({ type: 'research.completed' });
    await eventually('the first event', async () =>
      Boolean(await figure(`select count(*) as figure from mirror.events`)),
    );
    await client.query(`update mirror_sync.registration set secret_at = secret_at - interval '1 hour'`);

    for (const rate of RATES) {
      const [seen, looped] = [(await sandbox.control.deliveries()).length, (await lines(loopFile)).length];
      const stop = rate === 0 ? () => Promise.resolve<Statuses>(new Map()) : mebibytes(target, rate);
      const begun = performance.now();
      let [age, memory, emitted] = [0, 0, 0];
      const pass = fullPass(options);
      while (performance.now() - begun < flags.seconds * 1000) {
        await sandbox.control.emit({ type: 'research.completed' });
        emitted += 1;
        age = Math.max(age, await beatAge());
        memory = Math.max(memory, await residentMb(daemon.child.pid ?? 0));
        await sleep(GENUINE_MS);
      }
      const passSeconds = await Promise.race([pass, Promise.resolve(undefined)]);
      const answers = await stop();
      const passed = (performance.now() - begun) / 1000;
      const deliveries = await eventually('the service has delivered', async () => {
        const { deliveries: left } = await sandbox.control.counters();
        return left.waiting + left.underWay === 0 && (await sandbox.control.deliveries()).slice(seen);
      });
      const first = deliveries.filter(({ attempt }) => attempt === 1);
      const taken = deliveries.filter(({ status }) => status === 200);
      const latencies = taken.map(({ latencyMs }) => latencyMs).toSorted((a, b) => a - b);
      const delays = (await lines(loopFile)).slice(looped).map(Number);
      const late = Math.max(0, age - BEAT_S);
      const sent = [...answers.values()].reduce((sum, count) => sum + count, 0);
      rows.push([
        String(rate),
        (sent / passed).toFixed(0),
        [...answers].map(([status, count]) => `${status === 0 ? 'closed' : status}: ${count}`).join(', '),
        `${late.toFixed(1)} s`,
        `${Math.max(0, ...delays)} ms`,
        `${first.filter(({ status }) => status === 200).length} of ${first.length}`,
        `${quantile(latencies, 0.5).toFixed(0)} ms`,
        `${quantile(latencies, 0.99).toFixed(0)} ms`,
        memory.toFixed(0),
        passSeconds === undefined ? 'not done' : `${passSeconds.toFixed(1)} s`,
      ]);
      claims.check(passSeconds !== undefined, `at ${rate} a second a full pass was not done`);
      await pass;
      claims.check(late < MOST_LATE_S, `at ${rate} a second a heartbeat was ${late.toFixed(1)} s late`);
      claims.check(taken.length === emitted, `at ${rate} a second ${taken.length} of ${emitted} events were taken`);
      const wrong = [...answers.keys()].filter((status) => ![0, 400, 503].includes(status));
      claims.check(wrong.length === 0, `at ${rate} a second answers were ${wrong.join(', ')}`);
    }
    const [state] = (await client.query<{ state: string }>('select state from mirror_sync.registration')).rows;
    claims.check(state?.state === 'registered', `the registration is ${state?.state}`);
  });
  daemon.child.kill('SIGTERM');
  const { code } = await daemon.ended;
  claims.check(code === 0, `the daemon ended with ${String(code)}`);
  printMachine();
  printTable(
    [
      'forged/s',
      'sent/s',
      'answers',
      'heartbeat late',
      'loop held up',
      'first attempts',
      'median',
      'p99',
      'MB',
      'full pass',
    ],
    rows,
  );
  claims.tell(
    'no flood of forged mebibytes keeps the daemon from its heartbeat or its walks, or the service from delivering',
  );
});

/** A full pass that the daemon carries out. @returns how many seconds it takes */
async function fullPass(options: ProgramOptions): Promise<number> {
  const begun = performance.now();
  const { code } = await startProgram(['sync', '--full'], options).ended;
  claims.check(code === 0, `a full pass ended with ${String(code)}`);
  return (performance.now() - begun) / 1000;
}

async function lines(file: string): Promise<string[]> {
  return (await readFile(file, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
}

async function residentMb(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout.trim()) / 1024;
}
