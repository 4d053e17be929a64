import { loadConfig } from '../../config/load.ts';
import { listAccounts } from '../../db/accounts/stored-accounts.ts';
import { countOf } from '@research-mirror/runtime/figures';
import type { ExitCode } from '../terminal/exit-code.ts';
import { onMigratedMirror } from '../steps/migrated-mirror.ts';
import { printList } from '../steps/print-list.ts';
import type { Shell } from '../terminal/shell.ts';
import type { AccountsOptions } from './action.ts';

/** Who is mirrored. */
export async function listAction(
  shell: Shell,
  _: string,
  { json = false, demo = false }: AccountsOptions,
): Promise<ExitCode> {
  const config = loadConfig(shell.env, 'database');
  const which = demo ? 'demo' : 'likely';
  return onMigratedMirror(shell, config, { command: 'accounts', which }, async ({ db }) => {
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
