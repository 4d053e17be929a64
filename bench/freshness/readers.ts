import { type LearntChanges, NOTHING_LEARNT } from '../../src/plan/learnt-changes.ts';
import { changesPerMs, learn, PRIOR_MS, unannouncedShare } from '../../src/plan/change-rate.ts';
import { countsFrom, earlyPolls } from '../../src/plan/early-polls.ts';
import {
  compareNeeds,
  listsAtOnce,
  type ReadingNeed,
  needOf,
  type Readable,
} from '../../src/plan/next-reading.ts';
import { LINE_MS, type Shape } from './shapes.ts';
import type { Reader } from './simulate.ts';

/** All rows of everything, again and again. */
export function fullWalks({ scopes }: Shape): Reader {
  let next = -1;
  return {
    next: () => {
      next = (next + 1) % scopes.length;
      return { scope: next, requests: scopes[next]?.pages ?? 1 };
    },
  };
}

/** Each scope as often as any other. */
export function uniformPolls({ scopes }: Shape): Reader {
  let next = -1;
  return {
    next: () => {
      next = (next + 1) % scopes.length;
      return { scope: next, requests: scopes[next]?.cost ?? 1 };
    },
  };
}

/** Each collection's newest rows each minute, all rows daily; with what is left, the lists one after another. */
export function headPolls({ scopes }: Shape): Reader {
  const collections = scopes.flatMap(({ kind }, index) => (kind === 'collection' ? [index] : []));
  const lists = scopes.flatMap(({ kind }, index) => (kind === 'list' ? [index] : []));
  const polledAt = new Map<number, number>();
  let next = -1;
  return {
    walksDaily: 'each fourth',
    next: (now) => {
      for (const scope of collections) {
        if (now - (polledAt.get(scope) ?? -Infinity) < 60_000) continue;
        polledAt.set(scope, now);
        return { scope, requests: scopes[scope]?.cost ?? 1 };
      }
      next = (next + 1) % lists.length;
      const scope = lists[next];
      return scope === undefined ? undefined : { scope, requests: 1 };
    },
  };
}

export interface PlannedOptions {
  /** Share of the changes that have no event, where every rate is known, too: there is nothing to learn. */
  readonly known?: number;
  /** Cron lines each minute, and early polls: what the daemon does. Left out: every request is spent. */
  readonly asDaemon?: boolean;
}

/** The daemon's planner. */
export function planned({ scopes }: Shape, { known, asDaemon = false }: PlannedOptions): Reader {
  const learnt: LearntChanges[] = scopes.map(({ kind, cost, perHour }) =>
    // A rate that is known is one that was watched for ever.
    known === undefined
      ? NOTHING_LEARNT
      : {
          changes: 1e9 * perHour,
          announced: 1e9 * perHour * (1 - known),
          watchedMs: 3.6e15,
          cost: kind === 'list' ? 1 : cost,
        },
  );
  const readAt = new Float64Array(scopes.length).fill(Number.NaN);
  const lists = scopes.flatMap(({ kind }, index) => (kind === 'list' ? [index] : []));
  const collections = scopes.flatMap(({ kind }, index) => (kind === 'collection' ? [index] : []));
  const early = new Float64Array(scopes.length).fill(LINE_MS);
  /** Moments from which intervals count: a poll that comes late does not put off the next ones. */
  const from = new Float64Array(scopes.length).fill(Number.NaN);
  let shareOfLists = 1;
  let need = 0;
  let costOfLists = lists.length;
  let weighedAt = Number.NEGATIVE_INFINITY;
  /** What a run of lists finds out as it begins. */
  const weigh = (now: number): void => {
    weighedAt = now;
    costOfLists = lists.reduce((sum, scope) => sum + Math.max(1, learnt[scope]?.cost ?? 1), 0);
    need = lists.reduce((sum, scope) => {
      const seen = learnt[scope] as LearntChanges;
      return sum + Math.sqrt(seen.cost * shareOfLists * changesPerMs(seen, PRIOR_MS.list));
    }, 0);
  };
  // Of few lists the daemon's runs read all; without runs the order of a round would count.
  const batch = Math.min(listsAtOnce(lists.length), asDaemon ? Infinity : Math.ceil(lists.length / 100));
  let queue: number[] = [];

  const readableOf = (scope: number, now: number): Readable => {
    const { kind, longestMs } = scopes[scope] as Shape['scopes'][number];
    const at = readAt[scope] as number;
    const seen = learnt[scope] as LearntChanges;
    return {
      sinceMs: Number.isNaN(at)
        ? undefined
        : now - (asDaemon && kind === 'collection' ? (from[scope] as number) : at),
      longestMs: asDaemon && kind === 'collection' ? (early[scope] as number) : longestMs,
      learnt: seen,
      priorMs: PRIOR_MS[kind],
      unannounced: kind === 'list' ? shareOfLists : unannouncedShare(seen),
    };
  };
  /** The line's run of lists: when it began, what it has read, and whether the last one did not come to all. */
  let run = { began: Number.NEGATIVE_INFINITY, read: new Map<number, number>(), short: false };
  /** A run reads each list once; where the last one did not come to all, some twice. */
  const mayReadList = (scope: number): boolean => {
    const times = run.read.get(scope) ?? 0;
    return times === 0 || (run.short && times < 2 && run.read.size < lists.length);
  };
  const mayRead = (scope: number, { sinceMs, longestMs }: Readable): boolean => {
    if (!asDaemon || sinceMs === undefined) return true;
    return scopes[scope]?.kind === 'list' ? mayReadList(scope) : sinceMs >= longestMs;
  };
  const rank = (now: number): void => {
    const sumOf = (field: 'changes' | 'announced'): number =>
      lists.reduce((sum, scope) => sum + (learnt[scope]?.[field] ?? 0), 0);
    shareOfLists = unannouncedShare({ changes: sumOf('changes'), announced: sumOf('announced') });
    const first: { readonly scope: number; readonly need: ReadingNeed }[] = [];
    for (const scope of lists) {
      const readable = readableOf(scope, now);
      if (!mayRead(scope, readable)) continue;
      const need = needOf(readable);
      const last = first[batch - 1];
      if (last !== undefined && compareNeeds(last.need, need) <= 0) continue;
      const place = first.findIndex((each) => compareNeeds(need, each.need) < 0);
      first.splice(place < 0 ? first.length : place, 0, { scope, need });
      first.length = Math.min(first.length, batch);
    }
    queue = first.map(({ scope }) => scope);
  };
  return {
    hints: true,
    walksDaily: asDaemon ? 'in turn with lists' : 'each fourth',
    next: (now, walkFirst) => {
      if (now - run.began >= LINE_MS)
        run = { began: now, read: new Map(), short: run.read.size < lists.length };
      if (queue.length === 0 && lists.length > 0) rank(now);
      let best: { scope: number; need: ReadingNeed } | undefined;
      for (const scope of [...collections, ...(walkFirst ? [] : queue.slice(0, 1))]) {
        const readable = readableOf(scope, now);
        if (!mayRead(scope, readable)) continue;
        const need = needOf(readable);
        if (best === undefined || compareNeeds(need, best.need) < 0) best = { scope, need };
      }
      if (best === undefined) return undefined;
      if (queue[0] === best.scope) queue.shift();
      return { scope: best.scope, requests: scopes[best.scope]?.cost ?? 1 };
    },
    wasRead: ({ scope, now, found, announced, whole, perMinute, walking }) => {
      const before = readAt[scope] as number;
      const { kind, cost } = scopes[scope] as Shape['scopes'][number];
      if (whole) readAt[scope] = now;
      if (kind === 'list') run.read.set(scope, (run.read.get(scope) ?? 0) + 1);
      // A first reading finds rows, and no changes.
      const isFirst = whole && Number.isNaN(before);
      if (known === undefined && !isFirst) {
        // A hinted reading of single rows says nothing of the others.
        const seen = {
          elapsedMs: whole ? now - before : 0,
          changes: found,
          announced,
          requests: whole ? cost : 0,
        };
        learnt[scope] = learn(kind, learnt[scope] as LearntChanges, seen);
      }
      if (!asDaemon || kind === 'list') return;
      if (whole) {
        const interval = early[scope] as number;
        from[scope] = Number.isNaN(before)
          ? now
          : countsFrom((from[scope] as number) + interval, now, interval);
      }
      if (now - weighedAt >= LINE_MS) weigh(now);
      const polled = collections.map((index) => ({
        learnt: learnt[index] as LearntChanges,
        lineMs: LINE_MS,
      }));
      const ofLists = { requests: costOfLists, lineMs: LINE_MS, need };
      earlyPolls(polled, ofLists, { perMinute, readsBelow: walking }).forEach((interval, index) => {
        early[collections[index] as number] = Math.min(LINE_MS, interval);
      });
    },
  };
}
