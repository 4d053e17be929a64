/**
 * `research-mirror verify` against a sandbox with lifted limits: on a mirror that is equal, and after rows of it were
 * tampered with in Postgres, some in each way. It must find exactly those, as what they are. Sandbox, program and
 * Postgres are processes of their own; rows a second are those of the whole program, its start included.
 *
 *     node bench/mirror/verify.ts [--jobs 100000] [--each 100] [--orders falling,unordered,…] [--postgres URL]
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { VerifyReport } from '../../src/app/verify/run-verify.ts';
import type { Discrepancy, VerifiedCollection } from '../../src/sync/verify/report.ts';
import { startProgram } from '../../test/support/processes/program.ts';
import { STILL } from '@research-mirror/sandbox/testing/sandbox';
import { tamper, type Tampered } from '../../test/support/mirror/tamper.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, print, printMachine, printTable } from '../support/report.ts';
import { PRELOAD, programOptions, runSync, type Setting } from '../support/run-sync.ts';
import { onStage, type Stage, withClient } from '../support/stage.ts';

const flags = readFlags({ jobs: 100_000, each: 100, orders: 'falling,unordered', postgres: '' });
const claims = new Claims();

/** What each way of tampering must be told as, and by which fields. */
const TOLD: Readonly<Record<keyof Tampered, { kind: Discrepancy['kind']; fields: string }>> = {
  removed: { kind: 'missing', fields: '' },
  deleted: { kind: 'missing', fields: '' },
  added: { kind: 'extra', fields: '' },
  column: { kind: 'different', fields: 'status' },
  raw: { kind: 'different', fields: '_raw.status' },
  hash: { kind: 'different', fields: '_hash' },
};

await onStage(flags.postgres, async (stage) => {
  const speed: string[][] = [];
  const found: string[][] = [];
  for (const order of flags.orders.split(',') as ('falling' | 'unordered')[]) {
    const { times, kinds } = await verifyTwice(stage, order);
    speed.push(times);
    found.push(...kinds);
  }
  printMachine();
  print(`${flags.jobs} research jobs, ${flags.each} of them tampered with in each way; limits lifted`);
  printTable(
    ['order', 'equal mirror', 'rows/s', 'requests', 'peak MB', 'tampered mirror', 'requests', 'peak MB'],
    speed,
  );
  printTable(['order, what was done', 'rows', 'told as', 'exactly those', 'others'], found);
  claims.tell('verify finds exactly the rows that were tampered with, as what they are, and writes nothing');
});

async function verifyTwice(
  stage: Stage,
  order: 'falling' | 'unordered',
): Promise<{ times: string[]; kinds: string[][] }> {
  const sandbox = await stage.sandbox({ ...STILL, jobs: flags.jobs, limits: 'off', order });
  await sandbox.control.clock({ freeze: true });
  const url = await stage.database();
  const setting = { sandbox, folder: stage.folder, env: { DATABASE_URL: url } };
  await runSync(setting);
  const equal = await runVerify(setting, 0);
  const { jobs: untouched } = equal;
  claims.check(equal.report.equal && untouched.items === flags.jobs, `${order}: the mirror is equal`);
  return withClient(url, async (client) => {
    const tampered = await tamper(client, flags.each);
    const versions = (): Promise<string> =>
      client
        .query<{ v: string }>(
          `select md5(string_agg(ctid::text || xmin, '' order by ctid)) as v from mirror.research_jobs`,
        )
        .then(({ rows }) => rows[0]?.v ?? '');
    const before = await versions();
    const after = await runVerify(setting, 1);
    claims.check((await versions()) === before, `${order}: verify wrote rows`);
    const wanted = new Map(
      (Object.keys(TOLD) as (keyof Tampered)[]).flatMap((way) => tampered[way].map((id) => [id, way])),
    );
    const { discrepancies } = after.jobs;
    const others = discrepancies.filter(({ key }) => !wanted.has(key ?? '')).length;
    claims.check(others === 0, `${order}: ${others} rows were told that nobody had touched`);
    claims.check(after.jobs.changed === 0, `${order}: ${after.jobs.changed} rows not judged`);
    const kinds = (Object.keys(TOLD) as (keyof Tampered)[]).map((way) => {
      const { kind, fields } = TOLD[way];
      const right = discrepancies.filter(
        (each) =>
          wanted.get(each.key ?? '') === way &&
          each.kind === kind &&
          each.fields.map(({ name }) => name).join() === fields,
      ).length;
      claims.check(
        right === flags.each && tampered[way].length === flags.each,
        `${order}: of ${tampered[way].length} rows ${way}, ${right} were found as ${kind}`,
      );
      return [`${order}, ${way}`, String(tampered[way].length), kind, String(right), String(others)];
    });
    await sandbox.stop();
    const times = [
      order,
      `${equal.seconds.toFixed(1)} s`,
      String(Math.round(untouched.items / equal.seconds)),
      String(untouched.requests),
      megabytes(equal.peakBytes),
      `${after.seconds.toFixed(1)} s`,
      String(after.jobs.requests),
      megabytes(after.peakBytes),
    ];
    return { times, kinds };
  });
}

interface VerifyRun {
  readonly report: VerifyReport;
  readonly jobs: VerifiedCollection;
  readonly seconds: number;
  readonly peakBytes: number;
}

async function runVerify(setting: Setting, code: number): Promise<VerifyRun> {
  const peakFile = join(setting.folder, 'peak');
  await rm(peakFile, { force: true });
  const options = programOptions(setting);
  const begin = performance.now();
  const outcome = await startProgram(['verify', '--json', 'research_jobs'], {
    ...options,
    env: { ...options.env, BENCH_PEAK_FILE: peakFile },
    nodeArguments: ['--import', PRELOAD],
  }).ended;
  const seconds = (performance.now() - begin) / 1000;
  if (outcome.code !== code) {
    throw new Error(`verify ended with ${String(outcome.code)}:\n${outcome.stdout}${outcome.stderr}`);
  }
  const report = JSON.parse(outcome.stdout) as VerifyReport;
  const [jobs] = report.collections;
  if (jobs === undefined) throw new Error('verify told nothing');
  return { report, jobs, seconds, peakBytes: Number(await readFile(peakFile, 'utf8')) };
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
