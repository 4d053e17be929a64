import { loadConfig } from '../../config/load.ts';
import { listAccounts, type StoredAccount } from '../../db/accounts/stored-accounts.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { onMigratedMirror } from '../steps/migrated-mirror.ts';
import { widthOfTerminal, type Shell } from '../terminal/shell.ts';
import { formatTable } from '../terminal/text-table.ts';
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
    const text = json
      ? `${JSON.stringify({ accounts })}\n`
      : describeAccounts(accounts, widthOfTerminal(shell.out));
    shell.out.write(shell.scrubber.scrub(text));
    return EXIT.DONE;
  });
}

function describeAccounts(accounts: readonly StoredAccount[], width: number | undefined): string {
  if (accounts.length === 0) return 'no account is mirrored yet\n';
  const table = formatTable(
    [
      { title: 'account', align: 'right' },
      { title: 'email', align: 'left' },
      { title: 'service', align: 'left' },
      { title: 'keys', align: 'left' },
      { title: 'state', align: 'left' },
    ],
    accounts.map(({ userId, email, origin, keys, state, error }) => [
      userId,
      email ?? '',
      origin ?? '',
      keys.join(' '),
      error === null ? state : `${state}: ${error}`,
    ]),
    width,
  );
  return `${table}${countOf(accounts.length, 'account')}\n`;
}
