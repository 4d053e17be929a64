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

/** @param causes gets `isRung` of each wake-up */
async function listen(schema: string, lines: string[] = [], causes: boolean[] = []): Promise<Doorbell> {
  const bell = new Doorbell();
  const log = {
    info: (line: string) => void lines.push(line),
    warn: (line: string) => void lines.push(line),
  };
  const wakeups = createWakeups({
    connection: { url: database.url, program: 'research-mirror wake-ups' },
    schema,
    clock: systemClock,
    log,
    onWake: (isRung) => {
      causes.push(isRung);
      bell.ring();
    },
  });
  services.push(wakeups);
  await wakeups.start();
  await bell.heard(never);
  return bell;
}

describe('wake-ups', () => {
  it('come from other programs of the same mirror', async () => {
    const [mirror, other] = [await listen('mirror'), await listen('other')];
    await wake(database.db);
    await mirror.heard(never);
    expect(other.rung).toBe(false);
  });

  it('continue after the connection was lost, which is a reason to look, too', async () => {
    const lines: string[] = [];
    const causes: boolean[] = [];
    const bell = await listen('mirror', lines, causes);
    await database.db.sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'research-mirror wake-ups' and datname = current_database()`;
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

describe('notifications', () => {
  it('tell changes after the commit, one for a table and account, with the greatest change ID', async () => {
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
    notifications.changed({ table: 'lists', userId: '42', changeId: '9' });
    notifications.changed({ table: 'lists', userId: '42', changeId: '10' });
    notifications.changed({ table: 'lists', userId: '42', changeId: '8' });
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
});
