/** `accounts`: lists them, retires one, removes its data, accepts that the service has moved. */

import { Unusable } from '@research-mirror/runtime/errors';
import { countOf } from '@research-mirror/runtime/figures';
import { sql } from 'kysely';
import { randomUUID } from 'node:crypto';
import { AccountHeld, withLease } from '../account/with-account.ts';
import { loadConfig } from '../config/load.ts';
import { hashOfKey } from '../config/secret.ts';
import { forgetOwner, listAccounts, setOrigin } from '../postgres/accounts.ts';
import { commitDurably, databaseTime, type Db } from '../postgres/db.ts';
import { fenced } from '../postgres/fenced.ts';
import { ownIdentity } from '../postgres/heartbeat.ts';
import { logAct, type Operator, operatorOn } from '../postgres/operator-log.ts';
import { forgetReadings } from '../sync/recheck.ts';
import { readUserId } from '../terminal/given.ts';
import { onMirror } from '../terminal/open-mirror.ts';
import { complain, EXIT, type Options, say, type Shell, UsageError } from '../terminal/shell.ts';
import { printList } from '../terminal/text-table.ts';

export async function accountsAction(
  shell: Shell,
  action: string,
  [id, more]: string[],
  options: Options<'json' | 'demo' | 'removeData' | 'undo'>,
) {
  const { json = false, demo, removeData: remove = false, undo = false } = options;
  if (action === 'list') {
    if (id !== undefined) throw new UsageError('accounts list takes no user_id');
    return onMirror(shell, 'accounts', { demo }, async ({ db }) => {
      const accounts = await listAccounts(db);
      return printList(shell, {
        json: json ? JSON.stringify({ accounts }) : undefined,
        rows: accounts.map(({ userId, email, origin, keys, state, error }) => ({
          account: userId,
          email,
          service: origin,
          keys: keys.join(' '),
          state: error === null ? state : `${state}: ${error}`,
        })),
        none: 'no account is mirrored yet',
        below: countOf(accounts.length, 'account'),
      });
    });
  }
  if (id === undefined) throw new UsageError(`accounts ${action} needs a user_id. "accounts list" shows them`);
  if (more !== undefined) throw new UsageError(`accounts ${action} takes one account at a time`);
  const userId = readUserId(id);
  if (undo && remove) throw new UsageError("--undo and --remove-data can't be used together");
  if (action === 'move') return move(shell, userId, json);
  return onMirror(shell, 'accounts', { demo }, ({ db }) => retire(shell, db, userId, { json, remove, undo }));
}

/**
 * Makes the configured service the account's service. The next start asks again whose its keys are. Full walks are due.
 * @throws Unusable while a living process owns the account; AccountRetired
 */
async function move(shell: Shell, userId: string, json: boolean) {
  const config = loadConfig(shell.env, 'service');
  const { url: origin, keys } = config.service;
  return onMirror(shell, 'accounts', { config, which: 'own' }, async ({ db }) => {
    const known = db.state.selectFrom('account').select('_user_id').where('_user_id', '=', userId);
    if ((await known.executeTakeFirst()) === undefined) {
      complain(shell, `there is no account ${userId} here. "accounts list" shows the accounts`);
      return EXIT.NO;
    }
    const by = await operatorOn(db);
    const owner = { urgentDb: db, processId: randomUUID(), identity: await ownIdentity() };
    const moving = withLease(owner, userId, async (fence) => {
      await fenced(db, fence, async (trx, now) => {
        await setOrigin(trx, userId, origin);
        await forgetReadings(trx, userId, now);
        const stopped = trx.state.updateTable('account').set({ state: 'active', error: null });
        await stopped.where('_user_id', '=', userId).execute();
        await logAct(trx, by, { act: 'accounts move', userId, given: { origin } });
      });
      return forgetOwner(db, userId, keys.map(hashOfKey));
    });
    const forgotten = await moving.catch((error: unknown) => {
      throw error instanceof AccountHeld ? new Unusable(`${error.message}. Stop it first`) : error;
    });
    const asked = countOf(forgotten.length, 'key');
    const told = `account ${userId} is now mirrored from ${origin}; the next start asks again who owns its ${asked}`;
    const named = forgotten.map((hash) => hash.slice(0, 8));
    say(shell, json ? JSON.stringify({ userId, origin, keys: named }) : told);
    return EXIT.DONE;
  });
}

/** Takes an account out of the mirror, or back. A daemon may run meanwhile. */
async function retire(
  shell: Shell,
  db: Db,
  userId: string,
  { json, remove, undo }: Readonly<Record<'json' | 'remove' | 'undo', boolean>>,
) {
  const by = await operatorOn(db);
  const outcome = undo
    ? await takeBack(db, userId, by)
    : await retireAccount(db, userId, { now: await databaseTime(db), by, remove });
  const isKnown = outcome !== 'unknown';
  const rows = remove && isKnown ? await removeData(db, userId) : 0;
  const already = outcome === 'already' ? 'was already retired' : 'is retired';
  let told = `account ${userId} ${already}: it is not mirrored and nothing is sent for it, even if MIRROR_API_KEY has its key`;
  if (undo) {
    const back = 'is no longer retired: it is mirrored again if MIRROR_API_KEY has its key';
    told = `account ${userId} ${outcome === 'done' ? back : 'is not retired'}`;
  }
  if (!isKnown) told = `there is no account ${userId} here. "research-mirror accounts" shows the accounts`;
  if (remove && isKnown) told += `; ${countOf(rows, 'row')} removed`;
  say(shell, json ? JSON.stringify({ userId, outcome, undo, removedRows: rows }) : told);
  return isKnown ? EXIT.DONE : EXIT.NO;
}

/**
 * Retires an account: no program mirrors it or sends for it any more. The token rises, as at a takeover, so its daemon
 * gives it up. Cancels waiting submissions. Data stay; `remove` says that they go next.
 */
export function retireAccount(
  db: Db,
  userId: string,
  { now, by, remove }: Readonly<{ now: Date; by: Operator; remove: boolean }>,
) {
  return db.transaction(async (trx) => {
    // A crash must not bring cancelled submissions back, and send them.
    await commitDurably(trx);
    const state = await lockedState(trx, userId);
    if (state === undefined) return 'unknown';
    await trx.sql`
      update ${trx.stateTable('account')} set state = 'retired', error = null, owner = null, token = token + 1
      where _user_id = ${userId}::bigint`;
    const paused = trx.mirror.updateTable('_collections').set({ paused_at: now });
    await paused.where('_user_id', '=', userId).where('paused_at', 'is', null).execute();
    const { rows } = await trx.sql<{ emptied: string[] | null }>`
      select emptied_operations as emptied from ${trx.stateTable('installation')}`;
    await trx.sql`
      update ${trx.table('submissions')} set state = 'cancelled', done_at = ${now}::timestamptz,
        payload = case when operation = any(${rows[0]?.emptied ?? []}::text[]) then '{}' else payload end
      where _user_id = ${userId}::bigint and state in ('queued', 'held')`;
    if (state === 'retired' && !remove) return 'already';
    await logAct(trx, by, { act: 'accounts retire', userId, given: { removeData: remove } });
    return state === 'retired' ? 'already' : 'done';
  });
}

/** Takes a retired account back: the next daemon that has a key of it mirrors it again. */
function takeBack(db: Db, userId: string, by: Operator): ReturnType<typeof retireAccount> {
  return db.transaction(async (trx) => {
    const state = await lockedState(trx, userId);
    if (state === undefined) return 'unknown';
    if (state !== 'retired') return 'already';
    await trx.state.updateTable('account').set({ state: 'active' }).where('_user_id', '=', userId).execute();
    await logAct(trx, by, { act: 'accounts retire --undo', userId, given: {} });
    return 'done';
  });
}

/** Rows removed in one transaction. */
const BATCH = 5_000;

/** Removes all rows of a retired account, except its own, its keys' and the log's. @throws RangeError if it is back */
export async function removeData(db: Db, userId: string): Promise<number> {
  const { rows: tables } = await db.sql<{ schema: string; name: string }>`
    select n.nspname as schema, c.relname as name
    from pg_catalog.pg_class as c
    join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
    join pg_catalog.pg_attribute as a on a.attrelid = c.oid and a.attname = '_user_id' and not a.attisdropped
    where c.relkind in ('r', 'p') and not c.relispartition
      and (n.nspname = ${db.schema} and c.relname <> 'operator_log'
        or n.nspname = ${db.stateSchema} and c.relname not in ('account', 'api_key'))
    order by n.nspname, c.relname`;
  let all = 0;
  for (const table of tables) {
    const name = sql.id(table.schema, table.name);
    let removed: number;
    do {
      removed = await db.transaction(async (trx) => {
        // The lock is kept until the commit, so the account can't be taken back meanwhile.
        if ((await lockedState(trx, userId)) !== 'retired')
          throw new RangeError(`account ${userId} is no longer retired: removing its data has stopped`);
        const { numAffectedRows } = await trx.sql`
          delete from ${name} where _user_id = ${userId}::bigint and ctid = any(array(
            select t.ctid from ${name} as t where t._user_id = ${userId}::bigint limit ${BATCH}))`;
        return Number(numAffectedRows ?? 0);
      });
      all += removed;
    } while (removed === BATCH);
  }
  return all;
}

async function lockedState(trx: Db, userId: string): Promise<string | undefined> {
  const { rows } = await trx.sql<{ state: string }>`
    select state from ${trx.stateTable('account')} where _user_id = ${userId}::bigint for no key update`;
  return rows[0]?.state;
}
