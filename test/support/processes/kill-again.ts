import { eventually } from '@research-mirror/runtime/testing/eventually';
import type { System } from './system.ts';

/** Longest wait (ms) between the page that was chosen for a kill and the kill. */
const SOMEWHERE_MS = 80;

/**
 * Starts `sync --full` of the collections again and again, and kills it (SIGKILL) after up to eight requests:
 * between two of them, in the middle of one, or while a page is written.
 * @param afterwards called after each kill
 * @returns the number of kills: less than `kills` when a walk came to its end
 */
export async function killAgainAndAgain(
  system: System,
  collections: readonly string[],
  kills: number,
  random: () => number,
  afterwards: () => Promise<void> = async () => {},
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
    await afterwards();
  }
  return kills;
}

/**
 * Requests of research jobs beyond one for each different page; the first page, which has no cursor, is not counted.
 * @param walk `ended`: only until the last page came for the first time. What follows is the poll that ends a run, which
 *   reads the top again and the overlap behind it: no repetition
 */
export async function repeatedPages({ sandbox }: System, walk: 'under way' | 'ended'): Promise<number> {
  const log = await sandbox.control.log();
  const asked = log
    .filter(({ route, path }) => route === 'GET /v1/research' && path.includes('starting_after='))
    .map(({ path }) => path);
  const lastNew = asked.findLastIndex((path, index) => asked.indexOf(path) === index);
  const pages = walk === 'ended' ? asked.slice(0, lastNew + 1) : asked;
  return pages.length - new Set(pages).size;
}

/** Rows that were written more than once: what is superseded is archived. */
export async function writtenAgain({ db }: System): Promise<number> {
  const { rows } = await db.query<{ again: number }>(
    `select ((select count(*) from mirror.research_jobs_history) + (select count(*) from mirror.lists_history)
       + (select count(*) from mirror.list_items_history))::int as again`,
  );
  return rows[0]?.again ?? Number.NaN;
}
