import type pg from 'pg';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { brake, BRAKES, prepareCommitBrake } from '../kills/brakes.ts';
import { RealAccount } from '../real/real-account.ts';
import { type Attack, type GameResult, whileRoundsLast } from '../support/attack.ts';
import { openTable, playOnServer } from '../support/server.ts';

/** A heartbeat is valid for 12 s; then another process may take the account. */
const TAKEOVER_MS = 40_000;
/** How long the old owner gets to do what it must not; less than what it waits before it asks for the account again. */
const TEMPTED_MS = 2_500;

/** Small pages: the first reading has to go on until the second daemon is there. */
const PAGE = 3;

/** Every table that has rows of an account, digested. */
const DIGEST = `
  select string_agg(name || ':' || (xpath('/row/d/text()', query_to_xml(
    format('select md5(string_agg(t::text, chr(10) order by t::text)) as d from %s as t', name), false, true, '')))[1]::text,
    ' ' order by name) as digest
  from (select format('%I.%I', c.table_schema, c.table_name) as name from information_schema.columns as c
        join information_schema.tables as t using (table_schema, table_name)
        where c.table_schema in ('mirror', 'mirror_sync') and c.column_name = '_user_id'
          and t.table_type = 'BASE TABLE') as tables`;

/** Each trial waits out a heartbeat: side by side they cost little. */
const LANES = 3;

export const ownersAttack: Attack = {
  name: 'owners',
  what: 'an owner stops in mid-page (SIGSTOP) until another takes the account, and goes on then: it writes nothing',
  run: (options) => playOnServer(options, { lanes: LANES, more: whileRoundsLast(options.size), play: playOwners }),
};

/**
 * Two daemons. The one that owns the account is stopped in the middle of a page, the other one takes the account and
 * is then stopped as well, so that whatever changes afterwards is the first one's doing: that must be nothing.
 */
async function playOwners(seed: number, url: string): Promise<GameResult> {
  const table = await openTable(url);
  const account = await RealAccount.open(seed, { latencyMin: 10, latencyMax: 60, maxLimit: PAGE });
  const { db } = table;
  const { draw } = account;
  const pidOfOwner = async (): Promise<number | undefined> => {
    const { rows } = await db.query<{ pid: number }>(
      'select p.pid from mirror_sync.account as a join mirror_sync.process as p on p.process_id = a.owner',
    );
    return rows[0]?.pid;
  };
  try {
    await prepareCommitBrake(db);
    const first = account.begin(['start'], url);
    await eventually('the first owner', async () => (await pidOfOwner()) === first.child.pid);
    const second = account.begin(['start'], url, { LOG_LEVEL: 'info' });
    await second.until('share of this daemon: 0 of 1 account');
    account.act(true);
    const where = await stopInMidPage(db, account, first.child);
    account.count(where);
    const taken = async (): Promise<boolean> => (await pidOfOwner()) === second.child.pid;
    await eventually('the takeover', taken, TAKEOVER_MS);
    await systemClock.sleep(draw.random() * 1_500);
    second.child.kill('SIGSTOP');
    account.act(false);
    // A commit that it had sent still comes.
    await systemClock.sleep(300);
    const before = await digest(db);
    first.child.kill('SIGCONT');
    await systemClock.sleep(TEMPTED_MS);
    const after = await digest(db);
    account.tell(`before ${before}`);
    account.tell(`after  ${after}`);
    account.claim(before === after, `the fenced owner wrote (${where}): ${changed(before, after)}`);
    second.child.kill('SIGCONT');
    await account.stop(first);
    await account.stop(second);
    account.count('takeovers');
    await account.endWell(db, url);
    return account.outcome();
  } finally {
    await account.close();
    await table.close();
  }
}

/** Share of the stops for which Postgres holds a statement of a page; the others come at any moment. */
const IN_COMMIT = 0.75;
/** Tables that a page of a first reading writes, and COMMIT itself. The other daemon writes none of them. */
const OF_PAGES = BRAKES.filter(({ name }) =>
  ['COMMIT', 'mirror_sync.scope', 'mirror.research_jobs', 'mirror.list_items', 'mirror.watchlist'].includes(name),
);
/** Tables that are tried until a page waits to write one. */
const TRIES = 6;
const BLOCKS_MS = 500;
/** How long a statement may still be held after its client was stopped, in half of the cases. */
const BLOCKED_MS = 8_000;

/** Stops the owner while Postgres holds a statement of its page, or while anything else is under way. @returns where */
async function stopInMidPage(
  db: pg.Pool,
  account: RealAccount,
  owner: { kill(signal: NodeJS.Signals): boolean },
): Promise<string> {
  const { draw } = account;
  const pages = account.requests() + draw.integer(0, 6);
  await eventually('some pages', () => account.requests() > pages, 10_000).catch(() => {});
  for (let tries = draw.chance(IN_COMMIT) ? TRIES : 0; tries > 0; tries -= 1) {
    const chosen = draw.one(OF_PAGES) ?? BRAKES[0];
    const braking = await brake(db, chosen);
    if (braking === undefined) continue;
    try {
      const blocks = await eventually('a page that waits', () => braking.blocks(), BLOCKS_MS).catch(() => false);
      if (!blocks) continue;
      owner.kill('SIGSTOP');
      if (draw.chance(0.5)) await systemClock.sleep(draw.random() * BLOCKED_MS);
      return chosen.name === 'COMMIT' ? 'stopped in COMMIT' : 'stopped in a statement of a page';
    } finally {
      await braking.release();
    }
  }
  owner.kill('SIGSTOP');
  return 'stopped at a moment';
}

async function digest(db: pg.Pool): Promise<string> {
  const { rows } = await db.query<{ digest: string }>(DIGEST);
  return rows[0]?.digest ?? '';
}

function changed(before: string, after: string): string {
  const known = new Set(before.split(' '));
  return after
    .split(' ')
    .filter((each) => !known.has(each))
    .map((each) => each.split(':')[0])
    .join(', ');
}
