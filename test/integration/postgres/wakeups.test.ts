import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { createNotifications, createWakeups, wake } from '../../../src/postgres/notifications.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { stopAll, type Service } from '@research-mirror/runtime/service';
import { testDatabase } from '../../support/databases/migrated-database.ts';

const database = testDatabase();
const services: Service[] = [];
const never = new AbortController().signal;

afterEach(() => stopAll(services.splice(0)));

/** @returns a doorbell that wake-ups ring, `isRung` of each of them, and what is logged */
async function listen(schema: string) {
  const bell = new Doorbell();
  const causes: boolean[] = [];
  const lines: string[] = [];
  const log = (line: string) => void lines.push(line);
  const wakeups = createWakeups({
    connection: { url: database.url, program: 'research-mirror wake-ups' },
    schema,
    clock: systemClock,
    log: { info: log, warn: log },
    onWake: (isRung) => {
      causes.push(isRung);
      bell.ring();
    },
  });
  services.push(wakeups);
  await wakeups.start();
  await bell.heard(never);
  return { bell, causes, lines };
}

describe('wake-ups', () => {
  it('come from other programs of the same mirror', async () => {
    const [mirror, other] = [await listen('mirror'), await listen('other')];
    await wake(database.db);
    await mirror.bell.heard(never);
    expect(other.bell.rung).toBe(false);
  });

  it('continue after the connection was lost, which is a reason to look, too', async () => {
    const { bell, causes, lines } = await listen('mirror');
    await database.rows(`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'research-mirror wake-ups' and datname = current_database()`);
    await bell.heard(never);
    // From now on it looks each second, and once more when it listens again.
    await bell.heard(never);
    await wake(database.db);
    await bell.heard(never);
    expect(lines).toEqual([]);
    // Notifications that it may have missed count as rung.
    expect([causes[0], causes[1], causes.at(-1)]).toEqual([true, false, true]);
  });
});

it('notifications tell changes after the commit, one for a table and account, with the greatest change ID', async () => {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('listen mirror_changes');
  const heard: string[] = [];
  const bell = new Doorbell();
  client.on('notification', ({ payload }) => {
    heard.push(payload ?? '');
    bell.ring();
  });
  const notifications = createNotifications(database.db, systemClock);
  for (const changeId of ['9', '10', '8']) notifications.changed({ table: 'lists', userId: '42', changeId });
  await notifications.start();
  await bell.heard(never);
  notifications.changed({ table: 'account', userId: '9007199254740993', changeId: '11' });
  await notifications.stop();
  await bell.heard(never);
  expect(heard).toEqual([
    '{"schema":"mirror","table":"lists","user_id":42,"change_id":10}',
    '{"schema":"mirror","table":"account","user_id":9007199254740993,"change_id":11}',
  ]);
  await client.end();
});
