/**
 * What the charts of the status page cost the database: WAL of an account and an hour on its first day and later, with
 * a checkpoint each five minutes; milliseconds of what the daemon does each minute, and of reading a day.
 *
 *     node bench/databases/activity.ts [--accounts 100] [--hours 24] [--postgres URL]
 */
import type pg from 'pg';
import { openDatabase } from '../../src/db/connection/database.ts';
import { readActivity, storeActivity } from '../../src/db/status/stored-activity.ts';
import { migrate, MIGRATION_BOUNDS } from '../../src/db/migrations/run-migrations.ts';
import { MIGRATIONS, programVersion } from '../../src/app/program-files.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { COLLECTION_NAMES } from '../../src/model/collections.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, mean, printMachine, printTable } from '../support/report.ts';
import { onStage, withClient } from '../support/stage.ts';

const flags = readFlags({ accounts: 100, hours: 24, postgres: '' });
const claims = new Claims();
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const START = Date.UTC(2026, 0, 1, 0, 0, 30);

await onStage(flags.postgres, async (stage) => {
  const lines: string[][] = [];
  for (const accounts of new Set([1, flags.accounts])) {
    const url = await stage.database();
    lines.push(await withClient(url, (client) => measure(url, client, accounts)));
  }
  printMachine();
  printTable(
    ['accounts', 'first day, WAL/account/h', 'later, WAL/account/h', 'store', 'read', 'bytes/account'],
    lines,
  );
  claims.tell('each account has 288 rows after two days');
});

async function measure(url: string, client: pg.Client, accounts: number): Promise<string[]> {
  const database = await openDatabase({
    url,
    schema: 'mirror',
    program: 'bench',
    bounds: MIGRATION_BOUNDS,
    max: 1,
  });
  const { db } = database;
  try {
    await migrate({ db, folder: MIGRATIONS, version: programVersion(), clock: systemClock });
    await client.query(
      `insert into mirror_sync.account (_user_id, created_at) select n, now() from generate_series(1, ${accounts}) as n`,
    );
    await client.query(
      `insert into mirror._collections (_user_id, collection, live_rows, polled_at)
       select n, c, 1000, $1 from generate_series(1, ${accounts}) as n, unnest($2::text[]) as c`,
      [new Date(START), COLLECTION_NAMES],
    );
    const work = Array.from({ length: accounts }, (_, n) => ({
      userId: String(n + 1),
      changes: n % 3,
      requests: 6 + (n % 5),
    }));
    const took: number[] = [];
    /** One day, of which the WAL of `hours` is counted. */
    const day = async (start: number): Promise<number> => {
      let wal = 0;
      for (let minute = 0; minute < 1440; minute += 1) {
        const counted = minute < flags.hours * 60;
        // A checkpoint's own WAL does not count; the whole pages that follow it do.
        if (counted && minute % 5 === 0) await client.query('checkpoint');
        if (!counted && minute % 5 !== 0) continue;
        const before = await lsn(client);
        const begin = performance.now();
        await storeActivity(db, start + minute * MINUTE_MS, work);
        took.push(performance.now() - begin);
        if (counted) wal += (await lsn(client)) - before;
      }
      return wal / flags.hours / accounts;
    };
    const first = await day(START);
    const later = await day(START + DAY_MS);
    const begin = performance.now();
    const read = await readActivity(db, new Date(START + 2 * DAY_MS - MINUTE_MS));
    const reading = performance.now() - begin;
    const { rows } = await client.query<{ rows: string; bytes: string }>(
      `select count(*) as rows, pg_total_relation_size('mirror_sync.activity') as bytes from mirror_sync.activity`,
    );
    claims.check(
      Number(rows[0]?.rows) === 288 * accounts && read.size === accounts,
      `${rows[0]?.rows ?? '?'} rows of ${accounts} accounts`,
    );
    return [
      String(accounts),
      `${Math.round(first)} B`,
      `${Math.round(later)} B`,
      `${mean(took).toFixed(1)} ms`,
      `${reading.toFixed(0)} ms`,
      String(Math.round(Number(rows[0]?.bytes) / accounts)),
    ];
  } finally {
    await database.close();
  }
}

async function lsn(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ bytes: number }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as bytes`,
  );
  return rows[0]?.bytes ?? Number.NaN;
}
