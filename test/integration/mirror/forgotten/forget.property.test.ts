import fc from 'fast-check';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { forgetRows } from '../../../../src/operate/forget.ts';
import { storeEvent } from '../../../../src/events/event-store.ts';
import { collection, type ListCollection } from '../../../../src/model/collections.ts';
import { testDatabase } from '../../../support/databases/migrated-database.ts';
import { runs } from '../../../support/effort.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { rowsWith } from '../../../support/mirror/search-everything.ts';
import { eventOf } from '../../../support/webhooks/signing.ts';
import { OPERATOR } from '../../../support/mirror/operator.ts';

const database = testDatabase();
let users = 0;

const TABLES = ['research_jobs', 'lists', 'list_items', 'watchlist'] as const;
const PARENT = { research_jobs: '', lists: '', list_items: '3', watchlist: '' };
const FIELD = { research_jobs: 'job_id', lists: 'list_id', list_items: 'id', watchlist: 'id' };
/** Keys that contain each other or have a meaning in SQL, JSON and LIKE. */
const TEXT_KEYS = ['a', 'aa', '1', '11', 'a:b', '%', '_', `it's "so"`, '\\', 'ä', '{"x":1}'];
const NUMBER_KEYS = ['1', '2', '3', '11', '12', '-1', '9223372036854775807'];

interface Step {
  readonly user: 0 | 1;
  readonly table: (typeof TABLES)[number];
  readonly key: string;
  readonly what: 'page' | 'bad' | 'event' | 'submission';
}

const step: fc.Arbitrary<Step> = fc
  .record({
    user: fc.constantFrom(0, 1),
    table: fc.constantFrom(...TABLES),
    key: fc.nat(),
    what: fc.constantFrom('page', 'page', 'page', 'bad', 'event', 'submission'),
  })
  .map(({ key, ...rest }) => {
    const keys = rest.table === 'research_jobs' || rest.table === 'lists' ? NUMBER_KEYS : TEXT_KEYS;
    return { ...rest, key: keys[key % keys.length] ?? '' };
  });

/** A marker in every text about the row, and in no other. */
function markerOf({ table, key }: Pick<Step, 'table' | 'key'>, userId: string): string {
  return `<${userId}|${table}|${Buffer.from(key).toString('hex')}>`;
}

async function play(account: MirroredAccount, { table, key, what }: Step, round: number): Promise<void> {
  const { userId } = account.fence;
  const marker = markerOf({ table, key }, userId);
  const id = table === 'research_jobs' || table === 'lists' ? key : JSON.stringify(key);
  const item = `{"${FIELD[table]}": ${id}, "note": "${marker}", "round": ${round}`;
  if (what === 'page') await account.page(table, `[${item}}]`, { parent: PARENT[table] });
  if (what === 'bad') await account.page(table, `[${item}, "n": 1e200000}]`, { parent: PARENT[table] });
  if (what === 'event' && table !== 'list_items') {
    const family = { research_jobs: 'research', lists: 'list', watchlist: 'watchlist' }[table];
    const event = eventOf(`{"id": "${marker.length}-${round}", "type": "${family}.updated", "data": ${item}}}`);
    await storeEvent(database.db, userId, event, event.rows);
  }
  if (what === 'submission' && (table === 'research_jobs' || table === 'lists')) {
    await sql`
      select mirror.submit(${table === 'lists' ? 'list_analyze' : 'sequence'}, ${`{"note": "${marker}"}`}::jsonb, ${key},
        ${userId}::bigint)`.execute(database.kysely);
  }
}

/** Rows of all tables, without those of counters and of who did what. */
async function others(): Promise<string[]> {
  const counted = /^"mirror(_sync)?"\."(account|installation|_collections|scope|forgotten|deletions|operator_log)"/;
  return (await rowsWith(database.db, '')).filter((row) => !counted.test(row));
}

it('forgetting leaves nothing of the rows, takes nothing else, and keeps them out', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 40 }),
      fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
      async (steps, picks) => {
        const accounts = [await open(), await open()] as const;
        for (const [round, each] of steps.entries()) await play(accounts[each.user], each, round);
        const chosen = picks.flatMap((pick) => steps[pick % steps.length] ?? []);
        const gone = chosen.flatMap((each) => {
          const { userId } = accounts[each.user].fence;
          const whole = each.table === 'lists' && each.key === PARENT.list_items;
          return [markerOf(each, userId), ...(whole ? [`<${userId}|list_items|`] : [])];
        });
        const isLeft = (row: string) => !gone.some((marker) => row.includes(marker));
        const before = (await others()).filter(isLeft);
        for (const { user, table, key } of chosen) await forgetOne(accounts[user].fence.userId, table, key);
        expect(withoutState(await others())).toEqual(withoutState(before));
        for (const marker of gone) expect(await rowsWith(database.db, marker)).toEqual([]);
        const again = [await open(accounts[0].fence.userId), await open(accounts[1].fence.userId)] as const;
        for (const [round, each] of steps.entries()) {
          if (each.what !== 'submission') await play(again[each.user], each, 100 + round);
        }
        for (const marker of gone) expect(await rowsWith(database.db, marker)).toEqual([]);
      },
    ),
    { numRuns: runs(6, 60) },
  );
});

/** Without tables that name no content: the daemon's own state, and emptied submissions. */
function withoutState(rows: readonly string[]): string[] {
  const empty = /^"mirror"\."submissions": \(\d+,\d+,\w+,,\{\},/;
  const state = /^"mirror_sync"\."(?:unsettled|hint|event_seen)"/;
  return rows.filter((row) => !empty.test(row) && !state.test(row)).toSorted();
}

/** A new account, or one under its next owner. */
async function open(userId = String((users += 1))): Promise<MirroredAccount> {
  await database.db.raw(`update mirror_sync.account set owner = 'tests', token = 1 where _user_id = ${userId}`);
  return MirroredAccount.make(database, userId);
}

async function forgetOne(userId: string, name: Step['table'], key: string): Promise<void> {
  const list = collection(name) as ListCollection;
  const rows = [{ parent: PARENT[name], key }];
  await forgetRows(database.db, { userId, list, rows, dryRun: false, monotonic: () => 0, by: OPERATOR });
}
