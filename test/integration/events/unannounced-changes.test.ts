import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { storeEvent } from '../../../src/events/event-store.ts';
import { unannouncedBetween } from '../../../src/events/webhook-store.ts';
import { testDatabase } from '../../support/databases/migrated-database.ts';
import { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { recipes } from '../../support/rules/recipes.ts';
import { eventOf } from '../../support/webhooks/signing.ts';

const database = testDatabase();
let user = 0;
let changes = 0;
beforeEach(() => void (user += 1));

/** Seconds after an arbitrary noon, at which the webhook was registered; the first load ended at 10. */
const at = (seconds: number): Date => new Date(Date.UTC(2026, 0, 5, 12) + seconds * 1000);

const load = () => database.db.sql`
  insert into mirror.sync_log (_user_id, walk_id, collection, kind, started_at, ended_at, outcome, pages, items,
    inserted, updated, deleted, unchanged, quarantined, requests, rate_limited)
  select ${user}, row_number() over (), name, 'full', ${at(0)}, ${at(10)}, 'completed', 1, 0, 0, 0, 0, 0, 0, 1, 0
  from unnest(array['research_jobs', 'bulk_research_jobs', 'lists']) as name`;

/** A row came at `came` and has had `state` since `changed`; `before`: what it was until then. */
type Row = readonly [id: number, came: number, changed: number, state: string, before?: string];

async function put(
  [id, came, changed, state, before]: Row,
  [table, key, field] = ['research_jobs', 'job_id', 'status'],
): Promise<void> {
  const insert = (name: string, more: string, value: string | undefined, since: number, values = sql``) =>
    database.db.sql`insert into ${sql.table(`mirror.${name}`)}
        (_user_id, ${sql.ref(key)}, _first_seen_at, _changed_at, _change_id, _hash, _raw ${sql.raw(more)})
      values (${user}, ${id}, ${at(came)}, ${at(since)}, ${(changes += 1)}, '',
        ${JSON.stringify({ [field]: value })}::text::jsonb ${values})`;
  const superseded = sql`, ${at(came)}, ${at(changed)}, 'update'`;
  if (before !== undefined) await insert(`${table}_history`, ', _valid_from, _valid_to, _op', before, came, superseded);
  await insert(table, '', state, changed);
}

const event = (key: string, received: number, collection = 'research_jobs') => database.db.sql`
  insert into mirror.events (_user_id, id, received_at, _raw, _collection, _key)
  values (${user}, ${String((changes += 1))}, ${at(received)}, '{}', ${collection}, ${key})`;

/** How many changes after the registration, and until then, no event announced. */
const unannounced = (until = 10_000) => unannouncedBetween(database.db, String(user), at(0), at(until));

const TWO: readonly Row[] = [
  [1, 20, 40, 'completed', 'processing'],
  [2, 20, 50, 'completed', 'processing'],
];
const NEWS: readonly Row[] = [
  [1, 5, 5, 'completed'],
  [2, 30, 30, 'completed'],
  [3, 31, 31, 'completed'],
];

describe('changes into a finished state that no event announced', () => {
  it.each<[string, readonly Row[], readonly [string, number][], number, number?]>([
    [
      'include one whose event came after its page was written',
      TWO,
      [
        ['1', 39],
        ['2', 51],
      ],
      1,
    ],
    ['exclude changes into a state that goes on', [[1, 20, 40, 'processing', 'queued']], [], 0],
    ['include one that failed, in any letter case', [[1, 20, 40, 'Failed', 'processing']], [], 1],
    ['include rows that came finished, except those of the first load', NEWS, [['2', 29]], 1],
    ['exclude changes before the registration', [[1, -50, -40, 'completed', 'processing']], [], 0],
    ['exclude later changes of finished rows', [[1, 20, 40, 'completed', 'failed']], [], 0],
    ['exclude changes after the moment asked for', TWO, [], 1, 40],
    // Finished at 30, opened again at 200, finished again at 400 without an event.
    ['include one after the event of an earlier', [[1, 200, 400, 'completed', 'processing']], [['1', 30]], 1],
  ])('%s', async (_, rows, events, count, until) => {
    await load();
    for (const row of rows) await put(row);
    for (const each of events) await event(...each);
    expect(await unannounced(until)).toBe(count);
  });

  it('include those of bulk jobs and lists, with either field of their state', async () => {
    await load();
    await put([1, 20, 40, 'done', 'running'], ['bulk_research_jobs', 'bulk_job_id', 'state']);
    await event('1', 39, 'bulk_research_jobs');
    await put([1, 20, 40, 'analyzed', 'analyzing'], ['lists', 'list_id', 'status']);
    // A key is that of its own table.
    await event('1', 39);
    expect(await unannounced()).toBe(1);
  });

  it('exclude all rows before the first load has ended', async () => {
    await put([1, 5, 5, 'completed']);
    expect(await unannounced()).toBe(0);
  });

  it('include only the 1,000 rows of a table that changed last', async () => {
    await load();
    await database.db.sql`
      insert into mirror.research_jobs (_user_id, job_id, _first_seen_at, _changed_at, _change_id, _hash, _raw)
      select ${user}, n, moment, moment, 100 + n, '', '{"status": "completed"}'
      from (select n, ${at(100)}::timestamptz + n * interval '1 second' as moment from generate_series(1, 1100) as n)`;
    await database.db.sql`
      insert into mirror.events (_user_id, id, received_at, _raw, _collection, _key)
      select ${user}, n::text, ${at(100)}::timestamptz, '{}', 'research_jobs', n::text
      from generate_series(1, 150) as n`;
    expect(await unannounced()).toBe(950);
  });
});

/** docs/recipes.md, "Events, and what they told". */
const RECIPE = (await recipes()).find(({ statement }) => statement.includes('as polled_first'))?.statement ?? '';

it('the recipe that compares changes with events counts a change that an event announced, and those that a poll found first', async () => {
  const account = await MirroredAccount.make(database, '9001');
  const { userId } = account.fence;
  const page = (...states: readonly string[]) =>
    account.page('research_jobs', JSON.stringify(states.map((status, index) => ({ job_id: index + 1, status }))));
  const deliver = (id: number) => {
    const told = eventOf(`{"id":"evt_${id}","type":"research.completed","data":{"job_id":${id}}}`);
    return storeEvent(database.db, userId, told, told.rows);
  };
  await page('queued', 'queued', 'queued', 'queued');
  await deliver(1);
  await page('completed', 'completed', 'failed', 'processing');
  // Too late.
  await deliver(2);
  const { rows } = await database.db.sql`${sql.raw(RECIPE.replaceAll('$1', userId))}`;
  expect(rows).toEqual([{ collection: 'research_jobs', announced: '1', polled_first: '2' }]);
});
