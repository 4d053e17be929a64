/**
 * SIGKILL, again and again, of `research-mirror sync --full` at random moments of its walks, with embedded Postgres,
 * real latency, and a rate limit that is in force. Rounds: in each the source stands still; the walk is begun, killed
 * and begun again until it comes to its end by itself; then the mirror is compared with the truth. The first round is
 * a first load; before each other one the source moves on by an hour.
 *
 * What must hold after each round:
 * - nothing lost: the mirror equals the truth in every field
 * - nothing twice: as many change IDs were given out as rows came or changed; `sync_log` has each walk once
 * - at most two requests repeated per kill and walk: the page being written, and the one under way (by the sandbox's
 *   own log; collections are walked side by side, but all except the jobs have a single page here)
 * - no 429, across all restarts
 *
 *     node bench/service/kills.ts [--kills 100] [--within 6] [--jobs 50050] [--limit 600] [--seed 1] [--postgres URL]
 *
 * Each kill comes a random part of `--within` seconds after the program's first page. One in ten comes while it
 * starts; those that are before the first page are made, but not counted.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { startEmbedded } from '@research-mirror/embedded-postgres/start';
import { COLLECTIONS, type ListCollection } from '../../src/model/collections.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { seeded } from '../../test/support/random.ts';
import { startProgram } from '../../test/support/processes/program.ts';
import type { RequestRecord } from '@research-mirror/sandbox/request-log';
import type { SandboxControl } from '@research-mirror/sandbox/testing/control-client';
import type { TestSandbox } from '@research-mirror/sandbox/testing/sandbox';
import { differences } from '../../test/support/mirror/mirror-truth.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, print, printMachine, printTable, quantile } from '../support/report.ts';
import { programOptions, type Setting } from '../support/run-sync.ts';
import { onStage, withPool } from '../support/stage.ts';
import { WalksInLog } from '../support/walks-in-log.ts';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';

const HOUR = 3_600_000;
const PAGE = 100;
/** Part of the kills that come within so many milliseconds of the program's start. */
const EARLY = 0.1;
const EARLY_MS = 1500;
const LOOK_MS = 20;
const LISTS = COLLECTIONS.filter((each): each is ListCollection => each.kind === 'list');
const LIST_ROUTES = new Set(LISTS.map(({ route }) => `GET ${route}`));

const flags = readFlags({
  kills: 100,
  within: 6,
  jobs: 50_050,
  lists: 40,
  limit: 600,
  seed: 1,
  postgres: '',
});
const claims = new Claims();
const random = seeded(flags.seed);

/** What one life of the program told the service. */
interface Life {
  readonly killed: boolean;
  /** Milliseconds from its start to its first page; undefined: it asked for none. */
  readonly firstPageAfter: number | undefined;
  readonly requests: number;
  /** Requests repeated, in all walks together and of the walk with the most. */
  readonly repeated: number;
  readonly repeatedOfOne: number;
}

await onStage(flags.postgres, async (stage) => {
  const sandbox = await stage.sandbox({
    jobs: flags.jobs,
    lists: flags.lists,
    limitOther: flags.limit,
    latencyMin: 20,
    latencyMax: 200,
    maxLimit: PAGE,
    badLimit: 'clamped',
    watchlist: 50,
    newWatchEntriesPerMinute: 0.1,
  });
  await sandbox.control.clock({ freeze: true });
  const dataDir = join(stage.folder, 'data');
  const env =
    flags.postgres === ''
      ? { MIRROR_DATA_DIR: dataDir, MIRROR_PG_PORT: String(await nonEphemeralPort()) }
      : { DATABASE_URL: await stage.database() };
  const setting = { sandbox, folder: stage.folder, env };
  const inDatabase = <T>(use: (db: pg.Pool) => Promise<T>): Promise<T> =>
    env.DATABASE_URL === undefined ? inEmbedded(dataDir, use) : withPool(env.DATABASE_URL, use);

  const rows: string[][] = [];
  const lives: Life[] = [];
  let before: Texts = new Map();
  let changes = 0;
  let refused = 0;
  for (let round = 1; killsOf(lives) < flags.kills; round += 1) {
    if (round > 1) await sandbox.control.clock({ advanceMs: HOUR });
    const begin = performance.now();
    const truth = await textsOf(sandbox);
    const walks = walksIn(truth);
    const played = await playRound(setting, walks, flags.kills - killsOf(lives));
    const seconds = (performance.now() - begin) / 1000;
    refused = (await sandbox.control.counters()).rateLimited;

    const expected = [...truth].filter(([key, text]) => before.get(key) !== text).length;
    const { different, changeId, logged } = await inDatabase(async (db) => ({
      different: await differences({ sandbox, db }),
      ...(await countersOf(db)),
    }));

    const written = changeId - changes;
    const begun = walks.begun('/v1/research');
    for (const problem of different) claims.check(false, `round ${round}: ${problem}`);
    claims.check(written === expected, `round ${round}: ${expected} changes, ${written} rows written`);
    claims.check(logged === begun + loggedBefore(rows), `round ${round}: ${begun} walks, sync_log has others`);
    for (const { repeated } of played) claims.check(repeated <= 2, `${repeated} requests repeated after a kill`);
    rows.push([
      round === 1 ? 'first load' : `round ${round}`,
      String(killsOf(played)),
      String(played.filter((life) => life.killed && life.firstPageAfter === undefined).length),
      `${seconds.toFixed(0)} s`,
      String(played.reduce((sum, { requests }) => sum + requests, 0)),
      String(played.reduce((sum, { repeated }) => sum + repeated, 0)),
      String(Math.max(...played.map(({ repeated }) => repeated))),
      String(begun),
      String(expected),
      String(written),
      String(different.length),
    ]);
    lives.push(...played);
    before = truth;
    changes = changeId;
  }

  printMachine();
  print(
    `${flags.jobs} research jobs in pages of ${PAGE}, ${flags.lists} lists; ${flags.limit} requests per 60 s, ` +
      `share 1, latency 20–200 ms; seed ${flags.seed}`,
  );
  const titles = ['', 'kills', '(too early)', 'took', 'requests', 'repeated', 'most per kill', 'job walks'];
  printTable([...titles, 'changes', 'written', 'differ'], rows);
  const waits = lives.flatMap(({ firstPageAfter }) => firstPageAfter ?? []).toSorted((a, b) => a - b);
  print(
    `${refused} requests answered with 429; from a start to its first page: median ` +
      `${(quantile(waits, 0.5) / 1000).toFixed(1)} s, p99 ${(quantile(waits, 0.99) / 1000).toFixed(1)} s`,
  );
  claims.check(refused === 0, `${refused} requests were answered with 429`);
  claims.tell('no row lost or written twice, at most two requests of a walk repeated per kill, no 429');
});

/** Begins the walk and kills it, until it comes to its end. */
async function playRound(setting: Setting, walks: WalksInLog, kills: number): Promise<Life[]> {
  const { control } = setting.sandbox;
  const lives: Life[] = [];
  for (;;) {
    const logged = (await control.log()).at(-1)?.number ?? 0;
    const startedAt = Date.now();
    const program = startProgram(['sync', '--full', '--json'], programOptions(setting));
    const over = new AbortController();
    if (killsOf(lives) < kills) {
      untilMoment(control, logged, over.signal).then(
        () => program.child.kill('SIGKILL'),
        () => {}, // it came to its end before
      );
    }
    const { code, signal, stderr } = await program.ended;
    over.abort();
    const killed = signal === 'SIGKILL';
    if (!killed && code !== 0) throw new Error(`sync ended with ${String(code)}: ${stderr}`);
    const pages = pagesOf(await control.log(logged));
    const byWalk = [...walks.take(pages).values()];
    const repeated = byWalk.reduce((sum, each) => sum + each, 0);
    const repeatedOfOne = Math.max(0, ...byWalk);
    const [first] = pages;
    const firstPageAfter = first === undefined ? undefined : first.at - startedAt;
    lives.push({ killed, firstPageAfter, requests: pages.length, repeated, repeatedOfOne });
    process.stderr.write(killed ? (first === undefined ? '-' : 'x') : '.\n');
    if (!killed) return lives;
  }
}

/** Waits for a random moment: of the walk, from its first page on, or now and then of the program's start. */
async function untilMoment(control: SandboxControl, logged: number, signal: AbortSignal): Promise<void> {
  const early = random() < EARLY;
  const wait = random() * (early ? EARLY_MS : flags.within * 1000);
  if (!early) {
    while (pagesOf(await control.log(logged)).length === 0) await sleep(LOOK_MS, undefined, { signal });
  }
  await sleep(wait, undefined, { signal });
}

function pagesOf(log: readonly RequestRecord[]): RequestRecord[] {
  return log.filter(({ route }) => LIST_ROUTES.has(route));
}

/** Kills in the middle of a walk. */
function killsOf(lives: readonly Life[]): number {
  return lives.filter(({ killed, firstPageAfter }) => killed && firstPageAfter !== undefined).length;
}

/** Job walks of the rounds so far, by the table's column. */
function loggedBefore(rows: readonly (readonly string[])[]): number {
  return rows.reduce((sum, row) => sum + Number(row[7]), 0);
}

/** A reader of this round's walks. Lists have one page each, that every walk begins anew. */
function walksIn(texts: Texts): WalksInLog {
  const places = new Map(LISTS.map((each) => [each.path(''), new Map<string, number>()]));
  for (const { name, path, parent } of LISTS) {
    if (parent !== undefined) continue;
    const scope = places.get(path(''));
    for (const key of texts.keys()) {
      if (key.startsWith(`${name}//`)) scope?.set(key.slice(name.length + 2), scope.size);
    }
  }
  const none = new Map<string, number>();
  return new WalksInLog((scope) => places.get(scope) ?? none, PAGE);
}

type Texts = ReadonlyMap<string, string>;

/** Every row's text, in the order of its list. */
async function textsOf({ control }: TestSandbox): Promise<Texts> {
  const texts = new Map<string, string>();
  const add = ({ name, keyField }: ListCollection, list: string, items: readonly string[]): void => {
    for (const item of items) {
      const id = (JSON.parse(item) as Record<string, unknown>)[keyField];
      texts.set(`${name}/${list}/${String(id)}`, item);
    }
  };
  const lists = (await control.truth({ collection: 'lists' })).map((item) =>
    String((JSON.parse(item) as { list_id: number }).list_id),
  );
  for (const collection of LISTS) {
    const { name } = collection;
    if (name === 'account') continue;
    if (name !== 'list_items') add(collection, '', await control.truth({ collection: name }));
    else for (const list of lists) add(collection, list, await control.truth({ collection: name, list }));
  }
  // It does not change by itself.
  texts.set('account', '');
  return texts;
}

/** Change IDs given out, and job walks logged, ever. */
async function countersOf(db: pg.Pool): Promise<{ changeId: number; logged: number }> {
  const { rows } = await db.query<{ change_id: string; logged: string }>(
    `select change_id, (select count(*) from mirror.sync_log
       where collection = 'research_jobs' and kind = 'full' and outcome = 'completed') as logged
     from mirror_sync.account`,
  );
  return { changeId: Number(rows[0]?.change_id), logged: Number(rows[0]?.logged) };
}

/** Joins the program's own server, or starts it where the last program out stopped it. */
async function inEmbedded<T>(dataDir: string, use: (db: pg.Pool) => Promise<T>): Promise<T> {
  const log = { info: () => {}, warn: () => {} };
  const server = await startEmbedded({ dataDir, port: 'free', program: 'bench', log, clock: systemClock });
  try {
    return await withPool(server.url, use);
  } finally {
    await server.stop();
  }
}
