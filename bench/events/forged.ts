/**
 * Forged and malformed deliveries against the real daemon: wrong signatures, garbage, bodies and headers that are too
 * large or never end, wrong paths, senders that stop in the middle. Beside them the emulated service delivers genuine
 * events. None of the forged ones may be stored, all of the genuine ones are, and the memory stays as it was.
 *
 *     node bench/events/forged.ts [--deliveries 100000] [--connections 128] [--slow 200] [--postgres URL]
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { startProgram } from '../../test/support/processes/program.ts';
import { STILL, type TestSandbox } from '@research-mirror/sandbox/testing/sandbox';
import { readFlags } from '../support/flags.ts';
import { type Answered, KINDS, type Kind, slowSenders, type Target } from '../support/flood.ts';
import { Claims, print, printMachine, printTable, quantile } from '../support/report.ts';
import { PRELOAD, programOptions } from '../support/run-sync.ts';
import { onStage, withClient } from '../support/stage.ts';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';

const flags = readFlags({ deliveries: 100_000, connections: 128, slow: 200, postgres: '' });
/** Before memory is measured for the first time: what the runtime compiles and pools is there then. */
const WARM_UP = Math.min(5_000, flags.deliveries / 10);
/** A genuine event each so many milliseconds. */
const GENUINE_MS = 100;
/** Bodies in hand are bounded by 64 MiB (packages/runtime/src/http-listener.ts); Node holds what it has read of others as well. */
const GROWTH_MB = 160;

const claims = new Claims();
const MB = 1e6;

await onStage(flags.postgres, async (stage) => {
  const sandbox = await stage.sandbox({ ...STILL, limits: 'off', jobs: 50, lists: 3 });
  await sandbox.control.clock({ freeze: true });
  const port = await nonEphemeralPort();
  const peakFile = join(stage.folder, 'peak');
  const url = await stage.database();
  const { cwd, env } = programOptions({ sandbox, folder: stage.folder, env: { DATABASE_URL: url } });
  const daemon = startProgram(['start'], {
    cwd,
    env: {
      ...env,
      MIRROR_HTTP_PORT: '0',
      MIRROR_WEBHOOK_PORT: String(port),
      MIRROR_PUBLIC_URL: `http://127.0.0.1:${port}`,
      BENCH_PEAK_FILE: peakFile,
    },
    nodeArguments: ['--import', PRELOAD],
  });
  const { pid } = daemon.child;
  if (pid === undefined) throw new Error('the daemon did not start');
  const target: Target = { port, userId: sandbox.userId };
  await withClient(url, async (client) => {
    const stored = async (): Promise<string[]> =>
      (await client.query<{ id: string }>('select id from mirror.events')).rows.map(({ id }) => id);
    await eventually('a registration', () => sandbox.control.webhook().then((webhook) => webhook !== null));
    const genuine = await sandbox.control.emit({ type: 'research.completed' });
    await eventually('the first event', async () => (await stored()).length === 1);
    // A wrong signature is answered 400 once the secret is ten minutes old.
    await client.query(`update mirror_sync.registration set secret_at = secret_at - interval '1 hour'`);

    await flood(target, WARM_UP, new Map());
    const before = await residentBytes(pid);
    const answers = new Map<Kind, Map<Answered, number>>();
    const stopSlow = slowSenders(target, flags.slow);
    const service = genuineEvents(sandbox, genuine);
    const begun = performance.now();
    await flood(target, flags.deliveries, answers);
    const seconds = (performance.now() - begun) / 1000;
    await service.stop();
    stopSlow();
    await eventually('every genuine event is stored', async () => (await stored()).length >= genuine.length, 60_000);
    const deliveries = await eventually('the service has delivered', async () => {
      const { deliveries } = await sandbox.control.counters();
      return deliveries.waiting + deliveries.underWay === 0 && sandbox.control.deliveries();
    });
    const after = await residentBytes(pid);
    const ids = new Set(await stored());
    daemon.child.kill('SIGTERM');
    const { code, stdout, stderr } = await daemon.ended;
    const peak = Number(await readFile(peakFile, 'utf8'));
    const lines = (stdout + stderr).split('\n').filter((line) => line.includes('deliver')).length;

    const forgedStored = ids.size - genuine.filter((id) => id !== null && ids.has(id)).length;
    claims.check(forgedStored === 0, `${forgedStored} forged deliveries were stored`);
    claims.check(ids.size === genuine.length, `${ids.size} of ${genuine.length} genuine events were stored`);
    claims.check(code === 0, `the daemon ended with ${String(code)}`);
    claims.check(
      peak - before < GROWTH_MB * MB,
      `memory grew by ${((peak - before) / MB).toFixed(0)} MB at its peak, more than ${GROWTH_MB}`,
    );
    claims.check(
      after - before < (GROWTH_MB / 2) * MB,
      `memory had grown by ${((after - before) / MB).toFixed(0)} MB afterwards, more than ${GROWTH_MB / 2}`,
    );
    claims.check(lines < 100, `the daemon wrote ${lines} lines of deliveries`);

    printMachine();
    print(
      `${flags.deliveries} forged deliveries over ${flags.connections} connections, ${flags.slow} slow senders beside them`,
    );
    printAnswers(answers);
    print(
      `\n${seconds.toFixed(1)} s, ${(flags.deliveries / seconds).toFixed(0)} a second; ${forgedStored} stored; ` +
        `${lines} lines of log tell of it`,
    );
    print(
      `memory: ${(before / MB).toFixed(0)} MB before, ${(peak / MB).toFixed(0)} at the peak, ${(after / MB).toFixed(0)} after`,
    );
    const first = deliveries.filter(({ attempt }) => attempt === 1);
    const taken = first.filter(({ status }) => status === 200);
    const latencies = taken.map(({ latencyMs }) => latencyMs).toSorted((a, b) => a - b);
    print(
      `genuine beside it: ${ids.size} of ${genuine.length} stored, ${taken.length} of ${first.length} at the first attempt; ` +
        `answered in ${quantile(latencies, 0.5).toFixed(0)} ms (median), ${quantile(latencies, 0.99).toFixed(0)} ms (p99)`,
    );
  });
  claims.tell('no forgery is stored, every genuine event is, and memory stays flat');
});

/** Sends `count` deliveries, of each kind its share, over all connections side by side. */
async function flood(target: Target, count: number, answers: Map<Kind, Map<Answered, number>>): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: flags.connections });
  const queue = KINDS.flatMap((kind) => Array<Kind>(Math.round(kind.share * count)).fill(kind))
    .map((kind) => ({ kind, place: Math.random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ kind }) => kind);
  const work = async (): Promise<void> => {
    for (let kind = queue.pop(); kind !== undefined; kind = queue.pop()) {
      const answered = await kind.send(target, agent);
      const counts = answers.get(kind) ?? new Map<Answered, number>();
      counts.set(answered, (counts.get(answered) ?? 0) + 1);
      answers.set(kind, counts);
    }
  };
  await Promise.all(Array.from({ length: flags.connections }, work));
  agent.destroy();
}

/** The service goes on delivering; `ids` grows by each event. */
function genuineEvents(sandbox: TestSandbox, ids: (string | null)[]): { stop: () => Promise<void> } {
  let emitting = Promise.resolve();
  const emitOne = async (before: Promise<void>): Promise<void> => {
    await before;
    ids.push(...(await sandbox.control.emit({ type: 'research.completed' })));
  };
  const timer = setInterval(() => {
    emitting = emitOne(emitting);
  }, GENUINE_MS);
  return {
    async stop() {
      clearInterval(timer);
      await emitting;
    },
  };
}

async function residentBytes(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout.trim()) * 1024;
}

function printAnswers(answers: ReadonlyMap<Kind, ReadonlyMap<Answered, number>>): void {
  const rows = KINDS.map((kind) => {
    const counts = [...(answers.get(kind) ?? [])].toSorted(([, a], [, b]) => b - a);
    const sent = counts.reduce((sum, [, count]) => sum + count, 0);
    for (const [answered, count] of counts) {
      claims.check(kind.right.includes(answered), `${kind.name}: ${count} were answered ${answered}`);
    }
    return [kind.name, String(sent), counts.map(([answered, count]) => `${answered}: ${count}`).join(', ')];
  });
  printTable(['', 'sent', 'answers'], rows);
}
