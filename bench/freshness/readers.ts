import { earlyPollAfter } from '../../src/sync/early-runs.ts';
import { LINE_MS, type Shape, type ShapeScope } from './shapes.ts';
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

/** The daemon as it is set: cron lines each minute, and polls between their runs. */
export function daemon({ scopes }: Shape): Reader {
  const indexesOf = (wanted: ShapeScope['kind']): number[] =>
    scopes.flatMap(({ kind }, index) => (kind === wanted ? [index] : []));
  const collections = indexesOf('collection');
  // Those read longest ago come first: the order of a queue.
  const unread = indexesOf('list');
  const pages = collections.reduce((sum, scope) => sum + (scopes[scope]?.cost ?? 1), 0);
  const dueAt = new Float64Array(scopes.length);
  const changedAt = new Float64Array(scopes.length).fill(Number.NEGATIVE_INFINITY);
  let run = { began: Number.NEGATIVE_INFINITY, left: 0 };
  return {
    hints: true,
    walksDaily: 'in turn with lists',
    next: (now, walkFirst) => {
      const lineAt = Math.floor(now / LINE_MS) * LINE_MS;
      if (lineAt > run.began) run = { began: lineAt, left: unread.length };
      const due = collections.filter((scope) => (dueAt[scope] as number) <= now);
      const [first] = due.toSorted((a, b) => (dueAt[a] as number) - (dueAt[b] as number));
      const scope = first ?? (run.left > 0 && !walkFirst ? unread[0] : undefined);
      if (scope === undefined) return undefined;
      return { scope, requests: scopes[scope]?.cost ?? 1 };
    },
    wasRead: ({ scope, now, found, announced, whole, perMinute }) => {
      if (scopes[scope]?.kind === 'list') {
        unread.splice(unread.indexOf(scope), 1);
        unread.push(scope);
        run.left -= 1;
        return;
      }
      if (!whole) return;
      if (found > announced) changedAt[scope] = now;
      const load = { pages, lists: unread.length, perMinute };
      const early = now + earlyPollAfter(now - (changedAt[scope] as number), load);
      dueAt[scope] = Math.min(early, (Math.floor(now / LINE_MS) + 1) * LINE_MS);
    },
  };
}
