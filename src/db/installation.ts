import { sql, type Kysely, type Transaction } from 'kysely';
import type { Clock } from '../runtime/clock.ts';
import { databaseTime } from './database-time.ts';
import {
  compareFingerprints,
  mergeFingerprints,
  observeFingerprint,
  readFingerprint,
  type Difference,
  type Fingerprint,
} from './fingerprint.ts';
import { holdFor, LONGEST_GAP, type Hold, type HoldRow } from './hold.ts';
import { isServedByOthers } from './served-by-others.ts';

/**
 * A database that was restored, copied or branched must not send again what it finds queued, nor take a webhook away
 * from the one that it was copied from (design 9). The row `installation` tells whether this is the database that was
 * here before, and whether a daemon has kept it company since; where not, and something is at stake, submissions are
 * held until somebody releases them.
 */

export interface InstallationOptions {
  readonly db: Kysely<unknown>;
  readonly schema: string;
  /** `endpointHost` of the URL that `db` was opened with; of the unpooled one where there is one. */
  readonly host: string | undefined;
  /** For `<schema>.submit`: MIRROR_SUBMIT and MIRROR_SUBMIT_MAX_QUEUED. */
  readonly submit: { readonly enabled: boolean; readonly maxQueued: number };
  readonly clock: Clock;
}

interface InstallationRow extends HoldRow {
  readonly fingerprint: unknown;
  readonly alive_at: Date | null;
}

/**
 * To be called before anything is sent, by whatever process sends: judges whether this is the database that was here
 * before. Where its host alone is new, it waits up to 13 s for a sign of life of a process that was here before.
 * @returns the hold, where there is one now
 */
export async function openInstallation(
  options: InstallationOptions,
  signal?: AbortSignal,
): Promise<Hold | undefined> {
  const { db, schema, clock } = options;
  const seen = await observeFingerprint(db, schema, options.host);
  const judged = await judgeInstallation(options, seen, 'ask');
  if (judged !== 'new host') return judged;
  const known = (await isServedByOthers(db, schema, clock, signal)) ? 'same' : 'copy';
  const again = await judgeInstallation(options, seen, known);
  if (again === 'new host') throw new RangeError('a new host was judged as such twice');
  return again;
}

/** @param host what a database is whose host alone is new; `ask`: nothing is written then */
async function judgeInstallation(
  options: InstallationOptions,
  seen: Fingerprint,
  host: 'ask' | 'same' | 'copy',
): Promise<Hold | undefined | 'new host'> {
  const { db, schema, submit } = options;
  return db.transaction().execute(async (trx) => {
    const now = await databaseTime(trx);
    await sql`insert into ${sql.id(`${schema}_sync`, 'installation')} (created_at) values (${now}) on conflict do nothing`.execute(
      trx,
    );
    const row = await lockedRow(trx, schema);
    const before = readFingerprint(row.fingerprint);
    const stake = await atStake(trx, schema);
    const difference = before && compareFingerprints(before, seen);
    const another = difference !== undefined && difference.another.length > 0;
    const newHost = difference?.newHost === true && host !== 'same';
    if (newHost && host === 'ask' && !another && row.held_at === null && (stake.open || stake.registered)) {
      return 'new host';
    }

    const copied = stake.open || stake.registered ? whyACopy(difference, newHost, seen) : undefined;
    const why = copied ?? gapSince(row, now, stake);
    const fingerprint = another ? seen : mergeFingerprints(before, seen);
    await sql`
      update ${sql.id(`${schema}_sync`, 'installation')}
      set fingerprint = ${JSON.stringify(fingerprint)}::text::jsonb, alive_at = ${now}::timestamptz,
        settings = settings || ${JSON.stringify({ submit })}::text::jsonb
      where singleton`.execute(trx);
    return holdFor(trx, schema, row, now, why);
  });
}

function whyACopy(
  difference: Difference | undefined,
  newHost: boolean,
  seen: Fingerprint,
): string | undefined {
  if (difference === undefined) {
    return 'they were there before any daemon had seen this database: they may have been sent from another one';
  }
  if (difference.another.length > 0) {
    return `this is not the database that was here before: ${difference.another.join(', ')}`;
  }
  return newHost
    ? `the database is reached at another host than before (${seen.hosts.join(', ')}): it may be a copy`
    : undefined;
}

/**
 * Says that a daemon keeps the database company, each minute. A gap holds what is queued: the machine may have
 * been set back with its daemon in memory.
 * @returns the hold, where there is one now
 */
export async function beatInstallation(db: Kysely<unknown>, schema: string): Promise<Hold | undefined> {
  return db.transaction().execute(async (trx) => {
    const row = await lockedRow(trx, schema);
    const now = await databaseTime(trx);
    const why = gapSince(row, now, await atStake(trx, schema));
    await sql`update ${sql.id(`${schema}_sync`, 'installation')} set alive_at = ${now}::timestamptz where singleton`.execute(
      trx,
    );
    return holdFor(trx, schema, row, now, why);
  });
}

async function lockedRow(trx: Transaction<unknown>, schema: string): Promise<InstallationRow> {
  const { rows } = await sql<InstallationRow>`
    select fingerprint, alive_at, held_at, held_why from ${sql.id(`${schema}_sync`, 'installation')} for update`.execute(
    trx,
  );
  if (rows[0] === undefined) throw new RangeError('openInstallation comes before its first beat');
  return rows[0];
}

interface Stake {
  /** Submissions that are not done. */
  readonly open: boolean;
  readonly queued: boolean;
  /** A webhook was registered from here. */
  readonly registered: boolean;
}

async function atStake(trx: Transaction<unknown>, schema: string): Promise<Stake> {
  const submissions = sql.id(schema, 'submissions');
  const { rows } = await sql<Stake>`
    select exists (select from ${submissions} where state in ('queued', 'sending', 'held')) as open,
      exists (select from ${submissions} where state = 'queued') as queued,
      exists (select from ${sql.id(`${schema}_sync`, 'own_url')}) as registered`.execute(trx);
  if (rows[0] === undefined) throw new RangeError('a select without from gave no row');
  return rows[0];
}

/** What is being sent is never sent again, so only what is queued is in danger. */
function gapSince(row: InstallationRow, now: Date, stake: Stake): string | undefined {
  if (!stake.queued || row.alive_at === null) return undefined;
  const gap = now.getTime() - row.alive_at.getTime();
  if (gap <= LONGEST_GAP) return undefined;
  return `no daemon was running for ${Math.floor(gap / 60_000)} minutes while submissions were queued: the database may have been set back`;
}
