import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { createSystem, createFrozenSystem, type Daemon, type System } from '../../support/processes/system.ts';

const FIRST = 'first-key';
const BOTH = { MIRROR_API_KEY: `${FIRST},second-key` };
const ONLY_FIRST = { MIRROR_API_KEY: FIRST };

let system: System;
afterEach(() => system.close());

/** A daemon that has mirrored two accounts. */
async function twoAccounts(): Promise<Daemon> {
  system = await createFrozenSystem({ keys: `${FIRST}=1001,second-key=1002` });
  const daemon = await system.daemon(BOTH);
  await Promise.all([areAll('current', 1001), areAll('current', 1002)]);
  return daemon;
}

/** Waits until a query has this many rows. */
const rowsAre = (what: string, rows: number, query: string, ...values: unknown[]): Promise<boolean> =>
  eventually(what, async () => (await system.db.query(query, values)).rows.length === rows);

/** What `freshness` says of an account's collections, by state. */
async function states(userId: number): Promise<Record<string, string>> {
  const { rows } = await system.db.query<{ collection: string; state: string }>(
    'select collection, state from mirror.freshness where _user_id = $1 order by collection',
    [userId],
  );
  return Object.fromEntries(rows.map(({ collection, state }) => [collection, state]));
}

function areAll(state: string, userId: number): Promise<boolean> {
  return eventually(`account ${userId} to be ${state}`, async () => {
    const found = Object.values(await states(userId));
    return found.length === 6 && found.every((each) => each === state);
  });
}

/** As if days had passed since the account was read. */
function letDaysPass(userId: number): Promise<unknown> {
  return system.db.query(
    `update mirror._collections set next_poll_at = now() - interval '3 days', next_full_at = now() - interval '2 days',
       reading_at = null
     where _user_id = $1`,
    [userId],
  );
}

async function rowsOf(userId: number): Promise<number> {
  const { rows } = await system.db.query<{
    name: string;
  }>(`select format('%I.%I', table_schema, table_name) as name
     from information_schema.columns join information_schema.tables using (table_schema, table_name)
     where column_name = '_user_id' and table_type = 'BASE TABLE' and table_schema in ('mirror', 'mirror_sync')
       and not (table_schema = 'mirror_sync' and table_name in ('account', 'api_key'))
       and table_name <> 'operator_log'`);
  const counts = rows.map(({ name }) => `select count(*) as n from ${name} where _user_id = ${userId}`);
  const sum = `select sum(n)::int as n from (${counts.join(' union all ')}) as each`;
  return (await system.db.query<{ n: number }>(sum)).rows[0]?.n ?? -1;
}

describe('a narrowed configuration', () => {
  it('pauses what no daemon is asked to mirror any more, and is healthy', async () => {
    await (await twoAccounts()).stop();
    await letDaysPass(1002);
    const env = { ...ONLY_FIRST, MIRROR_COLLECTIONS: 'account,lists,list_items' };
    const narrow = await system.daemon(env);
    await areAll('paused', 1002);
    await eventually('the other collections', async () => (await states(1001))['watchlist'] === 'paused');
    const status = await system.run(['status'], env);
    expect(status.stdout).toContain('account 1002 is paused');
    expect(status.code).toBe(0);
    await narrow.stop();

    const after = await system.daemon(BOTH);
    await Promise.all([areAll('current', 1001), areAll('current', 1002)]);
    expect(await after.stop()).toMatchObject({ code: 0 });
  });

  it('pauses nothing that another daemon is asked for, though it died', async () => {
    const other = await twoAccounts();
    const narrow = await system.daemon(ONLY_FIRST);
    await narrow.until('share of this daemon: 1 of 1 account, as one of 2 daemons');
    const asked = 'select from mirror_sync.process where asked is not null';
    await rowsAre('both to say', 2, asked);
    // On another machine, where no daemon has taken its place.
    const { pid } = other.child;
    await system.db.query(`update mirror_sync.process set host = 'elsewhere' where pid = $1`, [pid]);
    await other.stop('SIGKILL');
    await letDaysPass(1002);
    const owner =
      'select from mirror_sync.account a join mirror_sync.process p on p.process_id = a.owner where p.pid = $1';
    await rowsAre('the takeover', 1, owner, narrow.child.pid);
    const died = 'select from mirror_sync.process where pid = $1 and alive_until < clock_timestamp()';
    await rowsAre('the dead one to be taken for dead', 1, died, other.child.pid);
    // What it says is said again at each look: after two of them one was made from then on.
    for (let looks = 0; looks < 2; looks += 1) {
      await system.db.query('update mirror_sync.process set asked = null where pid = $1', [narrow.child.pid]);
      await rowsAre('a look', 2, asked);
    }
    expect(Object.values(await states(1002))).toEqual(Array.from({ length: 6 }, () => 'overdue'));
    expect((await system.run(['status'])).code).toBe(1);
    expect(await narrow.stop()).toMatchObject({ code: 0 });
  });
});

describe('accounts retire', () => {
  it('takes an account from a running daemon, with its data where that is wished, and back', async () => {
    const daemon = await twoAccounts();
    const submission = `select mirror.submit('research', '{"company_url": "https://a.example"}', user_id => 1002)`;

    expect(await system.run(['accounts', 'retire', '1002'])).toMatchObject({ code: 0, stderr: '' });
    await daemon.until('account 1002 is retired');
    await letDaysPass(1002);
    expect((await system.run(['status'])).code).toBe(0);
    expect(new Set(Object.values(await states(1002)))).toEqual(new Set(['paused']));
    expect(await rowsOf(1002)).toBeGreaterThan(100);
    const message = 'account 1002 is retired: nothing is sent for it';
    await expect(system.db.query(submission)).rejects.toMatchObject({ code: 'RM013', message });
    const sync = await system.run(['sync'], BOTH);
    expect(sync.code).toBe(3);
    expect(sync.stdout).toContain('accounts retire 1002 --undo');

    const removed = await system.run(['accounts', 'retire', '1002', '--remove-data', '--json']);
    expect(JSON.parse(removed.stdout)).toMatchObject({ userId: '1002', outcome: 'already', undo: false });
    expect(await rowsOf(1002)).toBe(0);
    expect(await differences(system, 1001)).toEqual([]);

    expect(await system.run(['accounts', 'retire', '1002', '--undo'])).toMatchObject({ code: 0 });
    await areAll('current', 1002);
    expect(await differences(system, 1002)).toEqual([]);
    await expect(system.db.query(submission)).resolves.toMatchObject({ rowCount: 1 });
    expect(await daemon.stop()).toMatchObject({ code: 0 });
    // What an operator does is no trouble.
    expect(daemon.output()).not.toMatch(/"level":"(warn|error)"[^\n]*account 1002/);
    expect(daemon.output()).toMatch(
      /research-mirror \S+ is mirroring into \S.*: all collections of 2 API keys at http.*research-mirror \S+ stops after \d+ s/s,
    );
  });

  it('says which accounts it does not know, and what excludes each other', async () => {
    system = await createSystem();
    await system.sync(['account']);
    expect(await system.run(['accounts', 'retire', '7'])).toMatchObject({
      code: 1,
      stdout: 'there is no account 7 here. "research-mirror accounts" shows the accounts\n',
    });
    for (const args of [
      ['retire', '1001', '--undo', '--remove-data'],
      ['list', '--undo'],
    ]) {
      expect(await system.run(['accounts', ...args])).toMatchObject({ code: 2 });
    }
  });
});
