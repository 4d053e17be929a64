/**
 * How long after it happened a change is in the mirror: a daemon with default settings (cron each minute, real
 * limits, share 0.8) against a sandbox whose data change all the time. The sandbox and the mirror go by one clock,
 * and every item has its own moments (`created_at`, `started_at`, …, here with milliseconds); the mirror is asked
 * by SQL, each second, for what is new. A delay so ends when a reader saw the row, up to a second after its commit.
 *
 * Claimed is that new rows and changes of unfinished rows come within two poll intervals. Changes of finished rows
 * (scores on lists and on the watchlist) are shown, but only full walks bring them.
 *
 *     node bench/service/freshness.ts [--minutes 10] [--jobs 20000] [--lists 50] [--postgres URL]
 */
import type pg from 'pg';
import { startProgram } from '../../test/support/processes/program.ts';
import type { RequestRecord } from '@research-mirror/sandbox/request-log';
import type { SandboxControl } from '@research-mirror/sandbox/testing/control-client';
import { truthOf } from '../support/compare.ts';
import { type ListCollection, COLLECTIONS } from '../../src/model/collections.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, print, printMachine, printTable, quantile } from '../support/report.ts';
import { programOptions } from '../support/run-sync.ts';
import { onStage, withClient } from '../support/stage.ts';

const POLL_MS = 60_000;
const MINUTE = 60_000;
const LISTS = COLLECTIONS.filter((each): each is ListCollection => each.kind === 'list');

/** A version of a row, and when a reader of the mirror first saw it. */
interface Version {
  readonly updatedAt: number;
  readonly status: string | undefined;
  readonly seenAt: number;
}

interface Change {
  readonly collection: string;
  readonly kind: 'new row' | 'unfinished row' | 'finished row';
  readonly row: string;
  readonly at: number;
  readonly shownBy: (version: Version) => boolean;
}

type Fields = Readonly<Record<string, unknown>>;

const flags = readFlags({ minutes: 10, jobs: 20_000, lists: 50, postgres: '' });
const claims = new Claims();

await onStage(flags.postgres, async (stage) => {
  const sandbox = await stage.sandbox({ jobs: flags.jobs, lists: flags.lists, times: 'fraction' });
  const { control } = sandbox;
  const url = await stage.database();
  const env = { DATABASE_URL: url, MIRROR_HTTP_PORT: '0', MIRROR_BUDGET_SHARE: '0.8' };
  const daemon = startProgram(['start'], programOptions({ sandbox, folder: stage.folder, env }));
  try {
    await daemon.until('status page http');
    await withClient(url, async (client) => {
      const loading = Date.now();
      await untilLoaded(client);
      const from = Date.now();
      print(`first load took ${Math.round((from - loading) / 1000)} s`);
      const before = (await control.log()).at(-1)?.number ?? 0;
      const until = from + flags.minutes * MINUTE;
      // Whatever changed by then has two intervals to come, and a reader's second.
      const watched = await watch(client, control, until + 2 * POLL_MS + 2000);
      const { rateLimited } = await control.counters();
      const log = await control.log(before);
      const changes = await changesOf(control, watched.analyzed);
      printMachine();
      print(
        `${flags.jobs} research jobs, ${flags.lists} lists; ${flags.minutes} minutes, a poll each minute`,
      );
      tell(
        changes.filter(({ at }) => at >= from && at < until),
        watched.versions,
      );
      const span = (Date.now() - from) / MINUTE;
      print(`${(log.length / span).toFixed(1)} requests a minute, ${rateLimited} answered with 429`);
      print(`longest time between two polls: ${longestGaps(log)}`);
      claims.check(rateLimited === 0, `${rateLimited} requests were answered with 429`);
      claims.tell('every new row and every change of an unfinished row came within two poll intervals');
    });
  } finally {
    daemon.child.kill('SIGTERM');
    await daemon.ended;
  }
});

/** Every collection was polled once, lists' items included. */
async function untilLoaded(client: pg.Client): Promise<void> {
  const polled = 'select count(*)::int as count from mirror.freshness where polled_at is not null';
  for (;;) {
    const { rows } = await client.query<{ count: number }>(polled);
    if (rows[0]?.count === COLLECTIONS.length) return;
    await pause();
  }
}

/** Watches the mirror by its watermark, and the lists of the sandbox for the end of their analysis. */
async function watch(
  client: pg.Client,
  control: SandboxControl,
  until: number,
): Promise<{ versions: Map<string, Version[]>; analyzed: Map<string, number> }> {
  const versions = new Map<string, Version[]>();
  /** When a list was last seen in work: it was finished after that. */
  const analyzed = new Map<string, number>();
  const marks = new Map(LISTS.map(({ name }) => [name, '0']));
  while (Date.now() < until) {
    for (const collection of LISTS) {
      const list = collection.parent === undefined ? `''` : 'list_id';
      const { rows } = await client.query<{
        row: string;
        mark: string;
        updated: string;
        status: string | null;
      }>(
        `select ${list} || '/' || ${collection.keyField} as row, _change_id as mark,
           _raw ->> 'updated_at' as updated, _raw ->> 'status' as status
         from mirror.${collection.name} where _change_id > $1 order by _change_id`,
        [marks.get(collection.name)],
      );
      const seenAt = Date.now();
      for (const { row, mark, updated, status } of rows) {
        marks.set(collection.name, mark);
        const name = `${collection.name}/${row}`;
        const known = versions.get(name) ?? [];
        known.push({ updatedAt: Date.parse(updated), status: status ?? undefined, seenAt });
        versions.set(name, known);
      }
    }
    const asOf = Date.now();
    for (const text of await control.truth({ collection: 'lists' })) {
      const list = JSON.parse(text) as Fields;
      if (list['status'] !== 'completed') analyzed.set(String(list['list_id']), asOf);
    }
    await pause();
  }
  return { versions, analyzed };
}

/** All changes that the sandbox's items show. */
async function changesOf(
  control: SandboxControl,
  analyzed: ReadonlyMap<string, number>,
): Promise<readonly Change[]> {
  const changes: Change[] = [];
  for (const collection of LISTS) {
    for await (const { list = '', items } of truthOf(control, collection)) {
      for (const text of items) {
        const item = JSON.parse(text) as Fields;
        const row = `${collection.name}/${list}/${String(item[collection.keyField])}`;
        const add = (kind: Change['kind'], field: string): void => {
          const at = Date.parse(String(item[field]));
          if (Number.isNaN(at)) return;
          changes.push({
            collection: collection.name,
            kind,
            row,
            at,
            shownBy: ({ updatedAt }) => updatedAt >= at,
          });
        };
        add('new row', item['added_at'] === undefined ? 'created_at' : 'added_at');
        add('unfinished row', 'started_at');
        add('unfinished row', 'completed_at');
        add('finished row', 'score_changed_at');
        if (item['updated_at'] !== item['added_at'] && list !== '') add('finished row', 'updated_at');
        const at = collection.name === 'lists' ? analyzed.get(String(item['list_id'])) : undefined;
        if (at !== undefined) {
          const shownBy = ({ status }: Version): boolean => status === 'completed';
          changes.push({ collection: 'lists', kind: 'unfinished row', row, at, shownBy });
        }
      }
    }
  }
  return changes;
}

/** `research_jobs 61.3 s, …`: what a delay can't be shorter than, at its worst. */
function longestGaps(log: readonly RequestRecord[]): string {
  const told = LISTS.filter(({ parent }) => parent === undefined).map(({ name, route }) => {
    const moments = log.filter((request) => request.route === `GET ${route}`).map(({ at }) => at);
    const gaps = moments.slice(1).map((at, index) => at - (moments[index] ?? at));
    return `${name} ${seconds(Math.max(...gaps))} s`;
  });
  return told.join(', ');
}

function tell(changes: readonly Change[], versions: ReadonlyMap<string, readonly Version[]>): void {
  const groups = new Map<string, number[]>();
  for (const { collection, kind, row, at, shownBy } of changes) {
    const seenAt = versions.get(row)?.find(shownBy)?.seenAt;
    const delay = seenAt === undefined ? Infinity : seenAt - at;
    const late = kind !== 'finished row' && delay > 2 * POLL_MS;
    claims.check(!late, `${row}: ${kind} of ${new Date(at).toISOString()} after ${seconds(delay)} s`);
    for (const name of [`${kind}: ${collection}`, `${kind}: all`]) {
      groups.set(name, [...(groups.get(name) ?? []), delay]);
    }
  }
  const rows = [...groups.keys()].toSorted().map((name) => {
    const delays = (groups.get(name) ?? []).toSorted((a, b) => a - b);
    const figures = [quantile(delays, 0.5), quantile(delays, 0.99), delays.at(-1) ?? Number.NaN];
    const late = delays.filter((delay) => delay > 2 * POLL_MS).length;
    return [name, String(delays.length), ...figures.map(seconds), String(late)];
  });
  printTable(['what changed', 'changes', 'median s', 'p99 s', 'max s', 'later than 120 s'], rows);
}

function seconds(ms: number): string {
  return Number.isFinite(ms) ? (ms / 1000).toFixed(1) : 'never';
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1000));
}
