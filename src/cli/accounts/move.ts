import { moveAccount } from '../../app/accounts/move-account.ts';
import { loadConfig } from '../../config/load.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { onMigratedMirror } from '../steps/migrated-mirror.ts';
import type { AccountsOptions } from './action.ts';
import type { Shell } from '../terminal/shell.ts';

/** Accepts that an account's service or its keys are others now. */
export async function moveAction(
  shell: Shell,
  userId: string,
  { json = false }: AccountsOptions,
): Promise<ExitCode> {
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
