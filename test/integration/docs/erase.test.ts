import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { storeEvent } from '../../../src/events/event-store.ts';
import { testDatabase } from '../../support/databases/migrated-database.ts';
import { deleteAllBut } from '../../support/mirror/deleting.ts';
import { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { rowsWith } from '../../support/mirror/search-everything.ts';
import { recipes } from '../../support/rules/recipes.ts';
import { eventOf } from '../../support/webhooks/signing.ts';

const database = testDatabase();
const TEXT = 'anna@example.com';

const all = await recipes();
function statement(start: string): string {
  const found = all.find((each) => each.statement.startsWith(start))?.statement;
  if (found === undefined) throw new Error(`docs/erase.md has no statement that begins with ${start}`);
  return found;
}
async function run<Row extends Record<string, unknown>>(start: string): Promise<readonly Row[]> {
  return (await sql.raw<Row>(statement(start)).execute(database.kysely)).rows;
}
const job = (id: number, contact = ''): string => `{"job_id":${id},"contact":"${contact}"}`;

it('docs/erase.md prints a command for each row that ever had a text, whatever is kept of the row', async () => {
  const soft = await MirroredAccount.make(database, '1', { history: false, gracePeriodMs: 0 });
  await soft.page('research_jobs', `[${job(1, 'Anna@Example.com')},${job(2, TEXT)},${job(3)}]`);
  await deleteAllBut(soft, 'research_jobs', `[${job(1, 'Anna@Example.com')},${job(3)}]`, { accept: true });
  const hard = await MirroredAccount.make(database, '2', { deletes: 'hard', gracePeriodMs: 0 });
  await hard.page('research_jobs', `[${job(4, TEXT)},${job(5, TEXT)},${job(6)}]`);
  await hard.page('research_jobs', `[${job(5)}]`);
  await deleteAllBut(hard, 'research_jobs', `[${job(5)},${job(6)}]`, { accept: true });
  await hard.page('lists', `[{"list_id":7,"name":"for ${TEXT}"}]`);
  await hard.page('list_items', `[{"id":"it's","contact":"${TEXT}"},{"id":"b"}]`, { parent: '7' });
  expect((await run<{ command: string }>('with stored as')).map(({ command }) => command)).toEqual([
    `npx research-mirror forget list_items '7:it'\\''s' --user 2`,
    'npx research-mirror forget research_jobs 1 2 --user 1',
    'npx research-mirror forget research_jobs 4 5 --user 2',
    'npx research-mirror forget lists 7 --user 2',
  ]);
});

it('docs/erase.md erases by its text what no key finds, and shows where the text still is', async () => {
  const account = await MirroredAccount.make(database, '3');
  const event = eventOf(JSON.stringify({ id: 'e1', type: 'note.added', data: { text: TEXT } }));
  await storeEvent(database.db, '3', event, event.rows);
  await account.query(`
    select mirror.submit('enrich', '{"email": "${TEXT}"}', user_id => 3, idempotency_key => 'done'),
      mirror.submit('enrich', '{"email": "${TEXT}"}', user_id => 3, idempotency_key => 'waits');
    update mirror.submissions set state = 'rejected', done_at = now(), error = 'no ${TEXT}'
      where idempotency_key = 'done'`);
  await account.page('watchlist', `[{"contact":"${TEXT}"}]`);
  const theirs = async (): Promise<string[]> =>
    (await rowsWith(database.db, TEXT))
      .map((row) => row.replaceAll('"', '').split(':', 1)[0] ?? '')
      .filter((name) => /events|submissions|quarantine/.test(name));
  expect(await theirs()).toEqual(['mirror.events', 'mirror.quarantine', 'mirror.submissions', 'mirror.submissions']);
  for (const start of ['delete from mirror.events', 'update mirror.submissions', 'delete from mirror.quarantine'])
    await run(start);
  // What waits is cancelled first.
  expect(await theirs()).toEqual(['mirror.submissions']);
  expect(await account.rowsOf('idempotency_key', 'mirror.submissions', 'order by submission_id')).toEqual([
    'done',
    'waits',
  ]);
  const tables = (await run<{ table: string }>('select * from (')).map(({ table }) => table);
  const holding = new Set((await rowsWith(database.db, TEXT)).map((row) => row.replaceAll('"', '').split(':', 1)[0]));
  expect(new Set(tables)).toEqual(holding);
  // It is not sent again, and the event is not stored again.
  await expect(
    account.query(`select mirror.submit('enrich', '{"email": "${TEXT}"}', user_id => 3, idempotency_key => 'done')`),
  ).rejects.toThrow('another operation, target or payload');
  expect(await storeEvent(database.db, '3', event, event.rows)).toBe('known');
});
