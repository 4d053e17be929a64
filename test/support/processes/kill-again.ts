import { eventually } from '@research-mirror/runtime/testing/eventually';
import type { System } from './system.ts';

/** Longest wait (ms) between the page that was chosen for a kill and the kill. */
const SOMEWHERE_MS = 80;

/**
 * Starts `sync --full` of the collections again and again, and kills it (SIGKILL) after up to eight requests:
 * between two of them, in the middle of one, or while a page is written.
 * @returns the number of kills: less than `kills` when a walk came to its end
 */
export async function killAgainAndAgain(
  system: System,
  collections: readonly string[],
  kills: number,
  random: () => number,
): Promise<number> {
  for (let killed = 0; killed < kills; killed += 1) {
    const before = (await system.sandbox.control.counters()).requests;
    const pages = Math.floor(random() * 8);
    const running = system.begin(['sync', '--full', ...collections]);
    let ended = false;
    void running.ended.finally(() => {
      ended = true;
    });
    await eventually(`${pages} requests`, async () => {
      return ended || (await system.sandbox.control.counters()).requests - before > pages;
    });
    await new Promise((resolve) => {
      setTimeout(resolve, random() * SOMEWHERE_MS);
    });
    running.child.kill('SIGKILL');
    if ((await running.ended).signal !== 'SIGKILL') return killed;
  }
  return kills;
}

/** Requests of research jobs beyond one for each different page; the first page, which has no cursor, is not counted. */
export async function repeatedPages({ sandbox }: System): Promise<number> {
  const log = await sandbox.control.log();
  const asked = log
    .filter(({ route, path }) => route === 'GET /v1/research' && path.includes('starting_after='))
    .map(({ path }) => path);
  return asked.length - new Set(asked).size;
}

/** Rows that were written more than once: what is superseded is archived. */
export async function writtenAgain({ db }: System): Promise<number> {
  const { rows } = await db.query<{ again: number }>(
    `select count(*)::int as again from mirror.research_jobs_history`,
  );
  return rows[0]?.again ?? Number.NaN;
}
