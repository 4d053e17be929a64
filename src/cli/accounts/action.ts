import type { ExitCode } from '../terminal/exit-code.ts';
import type { Shell } from '../terminal/shell.ts';

/** Options of `accounts` as they were typed; each action names those that mean something to it. */
export interface AccountsOptions {
  readonly json?: boolean;
  readonly demo?: boolean;
  readonly removeData?: boolean;
  readonly undo?: boolean;
}

/** One thing that `accounts` can do: a file each, in the list of accounts.ts. */
export interface AccountsAction {
  /** As it is typed. */
  readonly name: string;
  /** It acts on one account, whose `user_id` is typed behind it. */
  readonly onOne: boolean;
  /** Which options mean something to it. */
  readonly options: readonly (keyof AccountsOptions)[];
  /** Lines of the command's help: a command line and what it does. */
  readonly examples: readonly (readonly [command: string, does: string])[];
  /** @param userId decimal digits of a bigint; '' where it acts on none in particular */
  readonly run: (shell: Shell, userId: string, options: AccountsOptions) => Promise<ExitCode>;
}
