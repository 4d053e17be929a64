import type { Db } from '../../../src/postgres/db.ts';
import { dueScopes } from '../../../src/mirror/scope-store.ts';

/** Lists whose items are to be read, in their order, as a pass that takes all asks for them. */
export async function dueLists(
  db: Db,
  userId: string,
  more: Partial<Parameters<typeof dueScopes>[1]> = {},
): Promise<string[]> {
  const scopes = await dueScopes(db, {
    userId,
    collection: 'list_items',
    notReadSince: new Date(Date.now() + 1_000),
    fully: false,
    except: [],
    now: new Date('2026-02-01T00:00:00Z'),
    first: 'changed',
    resting: 'last',
    limit: 10,
    ...more,
  });
  return scopes.map(({ scope }) => scope.parent);
}
