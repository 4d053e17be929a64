import { loadConfig } from '../../config/load.ts';
import { listAccounts, type StoredAccount } from '../../db/accounts/stored-accounts.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { EXIT } from '../terminal/exit-code.ts';
import { onMigratedMirror } from '../steps/migrated-mirror.ts';
import { widthOfTerminal } from '../terminal/shell.ts';
import { formatTable } from '../terminal/text-table.ts';
import type { AccountsAction } from './action.ts';

/** Who is mirrored. */
export const listAction: AccountsAction = {
  name: 'list',
  onOne: false,
  options: ['json', 'demo'],
  examples: [['research-mirror accounts', 'who is mirrored, and by which keys']],
  run: async (shell, _, { json = false, demo = false }) => {
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
  },
};

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
