import type { Db } from '../../../src/db/connection/db.ts';
import { type DueScopesQuery, dueScopes, type ScopeOrder } from '../../../src/mirror/scope/scope-store.ts';

const DAY = 86_400_000;

export function orderAt(now: string): ScopeOrder {
  return { now: new Date(now), first: 'changed', longestMs: DAY, priorMs: DAY, unfinishedPriorMs: DAY / 24 };
}

/** Lists whose items are to be read, in their order, as a pass that takes all asks for them. */
export async function dueLists(
  db: Db,
  userId: string,
  more: Partial<DueScopesQuery> = {},
): Promise<string[]> {
  const scopes = await dueScopes(db, {
    userId,
    collection: 'list_items',
    notReadSince: new Date(Date.now() + 1_000),
    fully: false,
    except: [],
    again: false,
    order: orderAt('2026-02-01T00:00:00Z'),
    resting: 'last',
    announced: 'believed',
    limit: 10,
    ...more,
  });
  return scopes.map(({ scope }) => scope.parent);
}
