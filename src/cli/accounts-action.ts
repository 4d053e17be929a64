import { randomUUID } from 'node:crypto';
import { hashOfKey } from '../config/secret.ts';
import { AccountHeld, withLease } from '../app/accounts/with-account.ts';
import { operatorOn } from '../app/process/operator.ts';
import { loadConfig } from '../config/load.ts';
import { databaseTime, type Db } from '../db/connection/db.ts';
import { setOrigin } from '../db/accounts/account-identity.ts';
import { forgetOwner } from '../db/accounts/api-keys.ts';
import { forgetReadings } from '../db/accounts/recheck.ts';
import { removeData, retireAccount, takeBack, type Retired } from '../db/accounts/retired-accounts.ts';
import { listAccounts } from '../db/accounts/stored-accounts.ts';
import { fenced } from '../db/ownership/fenced.ts';
import { ownIdentity } from '../db/ownership/process-identity.ts';
import { logAct } from '../db/roles/operator-log.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import { countOf } from '@research-mirror/runtime/figures';
import type { Options } from './definitions/definition.ts';
import { readUserId } from './steps/given.ts';
import { onMirror } from './steps/mirror.ts';
import { printList } from './steps/print-list.ts';
import { EXIT, UsageError, type ExitCode } from './terminal/exit-code.ts';
import { complain, say, type Shell } from './terminal/shell.ts';

export async function accountsAction(
  shell: Shell,
  action: string,
  [id, more]: string[],
  {
    json = false,
    demo,
    removeData: remove = false,
    undo = false,
  }: Options<'json' | 'demo' | 'removeData' | 'undo'>,
): Promise<ExitCode> {
  if (action === 'list') {
    if (id !== undefined) throw new UsageError('accounts list takes no user_id');
    return onMirror(shell, 'accounts', { demo }, ({ db }) => list(shell, db, json));
  }
  if (id === undefined) throw new UsageError(`accounts ${action}: which account? "accounts list" tells them`);
  if (more !== undefined) throw new UsageError(`accounts ${action} takes one account at a time`);
  const userId = readUserId(id);
  if (undo && remove) throw new UsageError('--undo and --remove-data exclude each other');
  if (action === 'move') return move(shell, userId, json);
  return onMirror(shell, 'accounts', { demo }, ({ db }) => retire(shell, db, userId, { json, remove, undo }));
}

async function list(shell: Shell, db: Db, json: boolean): Promise<ExitCode> {
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
}

/**
 * Makes the configured service the account's service, and forgets the owners of its keys: the next start asks for
 * them, and what another owner has becomes another account. Full walks are due.
 * @throws Unusable while a living process owns it; AccountRetired
 */
async function move(shell: Shell, userId: string, json: boolean): Promise<ExitCode> {
  const config = loadConfig(shell.env, 'service');
  const { url: origin, keys } = config.service;
  return onMirror(shell, 'accounts', { config, which: 'own' }, async ({ db }) => {
    const known = db.state.selectFrom('account').select('_user_id').where('_user_id', '=', userId);
    if ((await known.executeTakeFirst()) === undefined) {
      complain(shell, `there is no account ${userId}: "accounts list" tells them`);
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
      throw error instanceof AccountHeld ? new Unusable(`${error.message}: stop it first`) : error;
    });
    const asked = countOf(forgotten.length, 'key');
    const told = `account ${userId} is mirrored from ${origin} from now on; whose ${asked} of it may be is asked at the next start`;
    say(
      shell,
      json ? JSON.stringify({ userId, origin, keys: forgotten.map((hash) => hash.slice(0, 8)) }) : told,
    );
    return EXIT.DONE;
  });
}

/** Takes an account out of the mirror, beside a running daemon too, or back. */
async function retire(
  shell: Shell,
  db: Db,
  userId: string,
  { json, remove, undo }: Readonly<Record<'json' | 'remove' | 'undo', boolean>>,
): Promise<ExitCode> {
  const by = await operatorOn(db);
  const outcome = undo
    ? await takeBack(db, userId, by)
    : await retireAccount(db, userId, { now: await databaseTime(db), by, remove });
  const isKnown = outcome !== 'unknown';
  let rows = 0;
  if (remove && isKnown) {
    await removeData(db, userId, (_, removed) => {
      rows += removed;
    });
  }
  const removed = remove && isKnown ? `; ${countOf(rows, 'row')} of it removed` : '';
  const told = `${sentence(userId, outcome, undo)}${removed}`;
  say(shell, json ? JSON.stringify({ userId, outcome, undo, removedRows: rows }) : told);
  return isKnown ? EXIT.DONE : EXIT.NO;
}

function sentence(userId: string, outcome: Retired, undo: boolean): string {
  if (outcome === 'unknown')
    return `there is no account ${userId} here: "research-mirror accounts" tells them`;
  if (undo) {
    return outcome === 'done'
      ? `account ${userId} is taken back: it is mirrored again where MIRROR_API_KEY has a key of it`
      : `account ${userId} is not retired`;
  }
  const already = outcome === 'already' ? 'was retired already' : 'is retired';
  return `account ${userId} ${already}: it is not mirrored, and nothing is sent for it, whatever MIRROR_API_KEY says`;
}
