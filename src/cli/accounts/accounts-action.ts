import { moveAccount } from '../../app/accounts/move-account.ts';
import { loadConfig } from '../../config/load.ts';
import { databaseTime } from '../../db/connection/database-time.ts';
import type { Db } from '../../db/connection/db.ts';
import { removeData, retireAccount, takeBack, type Retired } from '../../db/accounts/retired-accounts.ts';
import { listAccounts } from '../../db/accounts/stored-accounts.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { ACCOUNTS_ACTIONS } from '../steps/action-names.ts';
import { chooseAction, refuseOptions } from '../steps/choose-action.ts';
import { onMigratedMirror } from '../steps/migrated-mirror.ts';
import { printList } from '../steps/print-list.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import type { Shell } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';

interface AccountsOptions {
  readonly json?: boolean;
  readonly demo?: boolean;
  readonly removeData?: boolean;
  readonly undo?: boolean;
}

/** What mean nothing to an action. */
const FOREIGN = { list: ['removeData', 'undo'], retire: [], move: ['demo', 'removeData', 'undo'] } as const;

/** What `accounts` does. */
export async function accountsAction(
  shell: Shell,
  given: string,
  ids: string[],
  options: AccountsOptions,
): Promise<ExitCode> {
  const action = chooseAction('accounts', given, ACCOUNTS_ACTIONS);
  refuseOptions(`accounts ${action}`, options, FOREIGN[action]);
  const { json = false, demo = false, removeData: remove = false, undo = false } = options;
  if (action === 'list' && ids.length > 0) throw new UsageError('accounts list takes no user_id');
  const userId = action === 'list' ? '' : chooseAccount(action, ids);
  if (undo && remove) throw new UsageError('--undo and --remove-data exclude each other');
  if (action === 'move') return move(shell, userId, json);
  const config = loadConfig(shell.env, 'database');
  const which = demo ? 'demo' : 'likely';
  return onMigratedMirror(shell, config, { command: 'accounts', which }, ({ db }) =>
    action === 'list' ? list(shell, db, json) : retire(shell, db, userId, { json, remove, undo }),
  );
}

/** @returns decimal digits of a bigint @throws UsageError */
function chooseAccount(action: string, [id, more]: readonly string[]): string {
  if (id === undefined) throw new UsageError(`accounts ${action}: which account? "accounts list" tells them`);
  if (more !== undefined) throw new UsageError(`accounts ${action} takes one account at a time`);
  if (!/^-?\d{1,18}$/.test(id)) throw new UsageError(`${JSON.stringify(id)} is no user_id: a number`);
  return id;
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

/** Accepts that an account's service or its keys are others now. */
async function move(shell: Shell, userId: string, json: boolean): Promise<ExitCode> {
  const config = loadConfig(shell.env, 'service');
  return onMigratedMirror(shell, config, { command: 'accounts', which: 'own' }, async ({ db }) => {
    const moved = await moveAccount(db, config, userId);
    if (moved === undefined) {
      shell.err.write(`research-mirror: there is no account ${userId}: "accounts list" tells them\n`);
      return EXIT.NO;
    }
    const { origin, keys } = moved;
    const asked = countOf(keys.length, 'key');
    const text = json
      ? `${JSON.stringify(moved)}\n`
      : `account ${userId} is mirrored from ${origin} from now on; whose ${asked} of it may be is asked at the next start\n`;
    shell.out.write(shell.scrubber.scrub(text));
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
  const outcome = undo ? await takeBack(db, userId) : await retireAccount(db, userId, await databaseTime(db));
  const isKnown = outcome !== 'unknown';
  let rows = 0;
  if (remove && isKnown) {
    await removeData(db, userId, (_, removed) => {
      rows += removed;
    });
  }
  const removed = remove && isKnown ? `; ${countOf(rows, 'row')} of it removed` : '';
  shell.out.write(
    json
      ? `${JSON.stringify({ userId, outcome, undo, removedRows: rows })}\n`
      : `${sentence(userId, outcome, undo)}${removed}\n`,
  );
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
