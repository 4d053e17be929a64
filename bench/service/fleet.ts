/**
 * Many daemons as one: they share accounts out, and a random one is killed (SIGKILL), or stopped (SIGTERM), again and
 * again, and started anew. The program as it is shipped, with real latency and a rate limit that is in force.
 *
 * What must hold:
 * - no scope is read by two at once (the emulated service's own counter), and no request is answered with a 429
 * - each change of the source is mirrored, and in the end the mirror equals the truth in every field
 * - shares are even in the end
 * Told besides: how long accounts are without an owner, and what daemons and Postgres cost.
 *
 *     node bench/service/fleet.ts [--daemons 4] [--accounts 200] [--minutes 10] [--every 20] [--stops 0.33] [--together]
 *       [--failover] [--rows 200] [--compare 20] [--seed 1] [--older FILE] [--postgres URL]
 *
 * `--every`: seconds between two ends, 0: none. `--together`: daemons know that they run on one machine, and notice a
 * death by its process ID; else they take each other for distant, as in containers, and wait for the heartbeat to run
 * out. `--failover`: a standby of Postgres takes over in the middle. `--older`: a rolling upgrade: the first daemons run
 * that program, an older version's dist/program/main.js, and who is ended comes back as this version, the last of them
 * in the end: daemons of two versions do not share out with each other. `--compare`:
 * accounts whose every field is compared in the end. What `--every 0 --accounts 1000 --rows 1000 --daemons 1` costs, and
 * 4, is in docs/scaling.md.
 */
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { STILL } from '@research-mirror/sandbox/testing/sandbox';
import { createSite } from '../../test/support/databases/cluster.ts';
import { createMovingDatabase } from '../../test/support/databases/moving-database.ts';
import { differences } from '../../test/support/mirror/mirror-truth.ts';
import { openPool } from '../../test/support/postgres/on-connection.ts';
import { startProgram, type Running } from '../../test/support/processes/program.ts';
import { seeded } from '../../test/support/random.ts';
import { readFlags } from '../support/flags.ts';
import { residentOf } from '../support/memory/peak-resident.ts';
import { OwnershipWatch } from '../../test/support/fleet/ownership-watch.ts';
import { processSeconds, serverSeconds } from '../support/processor-time.ts';
import { Claims, print, printMachine, printTable, quantile } from '../support/report.ts';
import { programOptions } from '../support/run-sync.ts';
import { onStage } from '../support/stage.ts';

const flags = readFlags({
  daemons: 4,
  accounts: 200,
  minutes: 10,
  every: 20,
  stops: 0.33,
  together: false,
  failover: false,
  rows: 200,
  compare: 20,
  seed: 1,
  older: '',
  postgres: '',
});
const claims = new Claims();
const random = seeded(flags.seed);
const SECOND = 1000;
/** Ended daemons come back after that (ms). */
const AWAY_MS = 5 * SECOND;
const USERS = Array.from({ length: flags.accounts }, (_, index) => 1001 + index);
/** Longest wait (ms) for what must come in the end. */
const PATIENCE = 1_800 * SECOND;

await onStage(flags.postgres, async (stage) => {
  const sandbox = await stage.sandbox({
    ...STILL,
    keys: USERS.map((user) => `key-${user}=${user}`).join(),
    limits: 'on',
    jobs: flags.rows,
    bulkJobs: 2,
    lists: 2,
    itemsPerList: 10,
    watchlist: 5,
    latencyMin: 20,
    latencyMax: 200,
  });
  const { control } = sandbox;
  await control.clock({ freeze: true });
  const site = flags.failover ? await createSite() : undefined;
  const moving = site && (await createMovingDatabase(await site.cluster()));
  const url = moving?.url ?? (await stage.database());
  const pool = openPool(url, 2);
  const env = {
    DATABASE_URL: url,
    MIRROR_HTTP_PORT: '0',
    MIRROR_API_KEY: USERS.map((user) => `key-${user}`).join(),
    LOG_FORMAT: 'json',
  };
  const daemons = new Map<number, Running>();
  /** Processor seconds of those that ended. */
  let spent = 0;
  const begin = async (script?: string): Promise<void> => {
    const options = programOptions({ sandbox, folder: stage.folder, env });
    const daemon = startProgram(['start'], script === undefined ? options : { ...options, script });
    const pid = daemon.child.pid ?? 0;
    daemons.set(pid, daemon);
    await daemon.until('status page http');
    if (flags.together) return;
    // Its own identity is in its memory: others find it on a machine of its own.
    await eventually('its row', async () => {
      const { rowCount } = await pool.query(
        `update mirror_sync.process set machine = process_id where pid = $1 and alive_until > clock_timestamp()`,
        [pid],
      );
      return rowCount === 1;
    });
  };
  const anyPid = (): number => [...daemons.keys()][Math.floor(random() * daemons.size)] ?? 0;
  const end = async (signal: 'SIGKILL' | 'SIGTERM', pid = anyPid()): Promise<void> => {
    const daemon = daemons.get(pid);
    spent += processSeconds(pid);
    if (signal === 'SIGKILL') daemons.delete(pid);
    const at = performance.now();
    daemon?.child.kill(signal);
    await daemon?.ended;
    daemons.delete(pid);
    if (signal === 'SIGTERM') stopTimes.push(performance.now() - at);
  };
  const stopTimes: number[] = [];
  const over = new AbortController();
  const first = flags.older === '' ? undefined : resolve(flags.older);
  try {
    await begin(first);
    const loading = performance.now();
    await eventually('the first load', async () => {
      const { rows } = await pool.query<{ ok: boolean }>(
        `select count(*) = ${USERS.length * 6} as ok from mirror.freshness
         where complete_as_of is not null or collection in ('account', 'webhook')`,
      );
      return rows[0]?.ok === true;
    });
    const loaded = (performance.now() - loading) / SECOND;
    const watch = new OwnershipWatch(pool, (pid) => daemons.has(pid));
    const watching = watch.run(over.signal);
    for (let more = 1; more < flags.daemons; more += 1) await begin(first);
    const joined = performance.now();
    await eventually('even shares', () => isEven(watch));
    const balanced = (performance.now() - joined) / SECOND;
    await moving?.follow();
    // What joining cost is not what ends cost.
    watch.gaps.length = 0;
    watch.moves = 0;
    await control.resetCounters();

    const changed = new Map<string, number>();
    const before = { at: performance.now(), cpu: cpuOf(), server: await serverOf() };
    const until = before.at + flags.minutes * 60 * SECOND;
    let nextEnd = before.at + flags.every * SECOND;
    let failoverAt = flags.failover ? before.at + flags.minutes * 30 * SECOND : Infinity;
    const ends = { SIGKILL: 0, SIGTERM: 0 };
    let connections = 0;
    while (performance.now() < until) {
      await pause(SECOND);
      const user = USERS[Math.floor(random() * USERS.length)] ?? 0;
      const [id] = await control.mutate({
        op: 'insert',
        collection: 'research_jobs',
        user,
        fields: { status: 'completed' },
      });
      changed.set(`${user}/${id}`, Date.now());
      connections = Math.max(connections, await connectionsOf());
      if (performance.now() >= failoverAt) {
        failoverAt = Infinity;
        await moving?.failOver();
        process.stderr.write('F');
      }
      if (flags.every === 0 || performance.now() < nextEnd) continue;
      nextEnd = performance.now() + flags.every * SECOND * (0.5 + random());
      const signal = random() < flags.stops ? 'SIGTERM' : 'SIGKILL';
      ends[signal] += 1;
      process.stderr.write(signal === 'SIGTERM' ? 't' : 'k');
      await end(signal);
      await pause(AWAY_MS);
      await begin();
    }
    const seconds = (performance.now() - before.at) / SECOND;
    const cpu = (cpuOf() - before.cpu) / seconds;
    const server = ((await serverOf()) - before.server) / seconds;
    const resident = [...daemons.keys()].map((pid) => residentOf(pid)?.now ?? Number.NaN);
    process.stderr.write('\n');
    for (const [pid, { child }] of daemons) {
      if (first === undefined || !child.spawnargs.includes(first)) continue;
      await end('SIGTERM', pid);
      await begin();
    }
    await eventually('even shares in the end', () => isEven(watch));
    const delays = await mirroredAll(changed);
    over.abort();
    await watching;
    const { maxInFlightPerScope, rateLimited, requests } = await control.counters();
    const wrong = await compared();

    printMachine();
    print(
      `${flags.daemons} daemons, ${USERS.length} accounts with ${flags.rows} jobs; ${seconds.toFixed(0)} s; ` +
        `${ends.SIGKILL} SIGKILL, ${ends.SIGTERM} SIGTERM${flags.failover ? ', 1 failover of Postgres' : ''}` +
        `${first === undefined ? '' : ', the first daemons of an older version'}; daemons ${flags.together ? 'on one machine' : 'as if on machines of their own'}; seed ${flags.seed}`,
    );
    const lives = watch.gaps.filter(({ afterKill }) => afterKill).map(({ ms }) => ms);
    const gaps = watch.gaps.filter(({ afterKill }) => !afterKill).map(({ ms }) => ms);
    printTable(
      ['', 'number', 'p50', 'p99', 'longest'],
      [
        ['accounts without owner after SIGKILL', ...spread(lives)],
        ['accounts without owner after hand-over', ...spread(gaps)],
        ['from SIGTERM to the end of the process', ...spread(stopTimes)],
        ['from a change to its row', ...spread(delays)],
      ],
    );
    printTable(
      ['', 'value'],
      [
        ['first load by one daemon', `${loaded.toFixed(0)} s`],
        ['even shares after the others had started', `${balanced.toFixed(1)} s`],
        ['accounts that changed hands', String(watch.moves + watch.gaps.length)],
        ['requests', String(requests)],
        ['refused with 429', String(rateLimited)],
        ['most requests of a scope at once', String(maxInFlightPerScope)],
        ['daemons, of a core', `${(100 * cpu).toFixed(1)} %`],
        ['Postgres, of a core', flags.failover ? '–' : `${(100 * server).toFixed(1)} %`],
        ['resident, all daemons', `${(resident.reduce((sum, each) => sum + each, 0) / 1e6).toFixed(0)} MB`],
        ['connections, most', String(connections)],
      ],
    );
    claims.check(maxInFlightPerScope === 1, `${maxInFlightPerScope} requests of one scope at once`);
    claims.check(rateLimited === 0, `${rateLimited} requests were answered with 429`);
    for (const line of wrong) claims.check(false, line);
    claims.check(Math.max(0, ...lives) < 15 * SECOND || flags.failover, 'a takeover took more than 15 s');
    claims.tell(
      `no scope read twice at once, no 429, every change mirrored, ${flags.failover ? '' : 'takeover within 15 s, '}even shares`,
    );
  } finally {
    over.abort();
    await Promise.all(
      [...daemons.values()].map(({ child, ended }) => {
        child.kill('SIGTERM');
        return ended;
      }),
    );
    await pool.end();
    await moving?.close();
    await site?.remove();
  }

  function isEven(watch: OwnershipWatch): boolean {
    const shares = watch.shares([...daemons.keys()]);
    const sum = shares.reduce((total, each) => total + each, 0);
    return sum === USERS.length && Math.max(...shares) - Math.min(...shares) < 2;
  }

  function cpuOf(): number {
    return spent + [...daemons.keys()].reduce((sum, pid) => sum + processSeconds(pid), 0);
  }

  async function serverOf(): Promise<number> {
    if (flags.failover) return Number.NaN;
    const client = await pool.connect();
    try {
      return await serverSeconds(client);
    } finally {
      client.release();
    }
  }

  /** Of all programs but this one. */
  async function connectionsOf(): Promise<number> {
    const answer = await pool
      .query<{ count: number }>(
        `select count(*)::int as count from pg_stat_activity
         where datname = current_database() and backend_type = 'client backend'`,
      )
      .catch(() => undefined);
    return (answer?.rows[0]?.count ?? 0) - pool.totalCount;
  }

  /** Waits for all of them. @returns milliseconds from each change to its row */
  async function mirroredAll(changed: ReadonlyMap<string, number>): Promise<number[]> {
    return eventually('all changes', async () => {
      const { rows } = await pool.query<{ key: string; at: Date }>(
        `select _user_id || '/' || job_id as key, _first_seen_at as at from mirror.research_jobs
         where _user_id || '/' || job_id = any($1)`,
        [[...changed.keys()]],
      );
      return rows.length === changed.size
        ? rows.map(({ key, at }) => at.getTime() - (changed.get(key) ?? Number.NaN))
        : undefined;
    });
  }

  async function compared(): Promise<string[]> {
    await control.change({ limits: 'off', latencyMin: 0, latencyMax: 0 });
    const step = Math.max(1, Math.ceil(USERS.length / Math.max(1, flags.compare)));
    const some = USERS.filter((_, index) => index % step === 0);
    const wrong: string[] = [];
    for (const user of some) {
      const found = await differences({ sandbox, db: pool }, user);
      wrong.push(...found.map((line) => `account ${user}: ${line.slice(0, 100)}`));
    }
    return wrong;
  }
});

/** @throws after some minutes */
async function eventually<T>(
  what: string,
  condition: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const until = performance.now() + PATIENCE;
  for (;;) {
    const value = await Promise.resolve()
      .then(condition)
      .catch(() => undefined);
    if (value !== undefined && value !== false) return value;
    if (performance.now() > until) throw new Error(`waited in vain for ${what}`);
    await pause(SECOND / 4);
  }
}

function spread(times: readonly number[]): string[] {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    sorted.length === 0 ? '–' : `${(quantile(sorted, share) / SECOND).toFixed(2)} s`;
  return [String(sorted.length), at(0.5), at(0.99), at(1)];
}
