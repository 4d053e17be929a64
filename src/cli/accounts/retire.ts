import { loadConfig } from '../../config/load.ts';
import { databaseTime } from '../../db/connection/database-time.ts';
import { removeData, retireAccount, takeBack, type Retired } from '../../db/accounts/retired-accounts.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { onMigratedMirror } from '../steps/migrated-mirror.ts';
import { UsageError } from '../terminal/usage-error.ts';
import type { AccountsOptions } from './action.ts';
import type { Shell } from '../terminal/shell.ts';

/** Takes an account out of the mirror, beside a running daemon too, or back. */
export async function retireAction(
  shell: Shell,
  userId: string,
  options: AccountsOptions,
): Promise<ExitCode> {
  const { json = false, demo = false, removeData: remove = false, undo = false } = options;
  if (undo && remove) throw new UsageError('--undo and --remove-data exclude each other');
  const config = loadConfig(shell.env, 'database');
  const which = demo ? 'demo' : 'likely';
  return onMigratedMirror(shell, config, { command: 'accounts', which }, async ({ db }) => {
    const outcome = undo
      ? await takeBack(db, userId)
      : await retireAccount(db, userId, await databaseTime(db));
    let rows = 0;
    if (remove && outcome !== 'unknown') {
      await removeData(db, userId, (_, removed) => {
        rows += removed;
      });
    }
    const said = sentence(userId, outcome, undo);
    const removed = remove && outcome !== 'unknown' ? `; ${countOf(rows, 'row')} of it removed` : '';
    shell.out.write(
      json ? `${JSON.stringify({ userId, outcome, undo, removedRows: rows })}\n` : `${said}${removed}\n`,
    );
    return outcome === 'unknown' ? EXIT.NO : EXIT.DONE;
  });
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
