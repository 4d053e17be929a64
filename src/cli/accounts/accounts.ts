import { actionArgument, chooseAction, refuseOptions } from '../steps/choose-action.ts';
import { examples, type AddCommand } from '../terminal/add-command.ts';
import { UsageError } from '../terminal/usage-error.ts';
import type { AccountsAction, AccountsOptions } from './action.ts';
import { listAction } from './list.ts';
import { moveAction } from './move.ts';
import { retireAction } from './retire.ts';

const ACTIONS: readonly AccountsAction[] = [listAction, retireAction, moveAction];
const NAMES = ACTIONS.map(({ name }) => name);
const OPTIONS: readonly (keyof AccountsOptions)[] = ['json', 'demo', 'removeData', 'undo'];

export const addAccounts: AddCommand = (program, run) => {
  program
    .command('accounts')
    .summary('the accounts that are mirrored here')
    .description(
      'The accounts of this mirror. list tells who is mirrored, in which state, and by which keys (the beginning of ' +
        'each key’s SHA-256). retire takes an account out: no program mirrors it or sends for it any more. move accepts ' +
        'that the service is at MIRROR_API_URL now, and has the configured keys asked anew whose they are: run it while ' +
        'no daemon runs.',
    )
    .addArgument(actionArgument(NAMES))
    .argument('[user_id...]', 'of which account')
    .option('--json', 'as JSON on stdout')
    .option('--remove-data', 'retire: removes all its rows, too')
    .option('--undo', 'retire: takes the account back')
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText('after', examples(ACTIONS.flatMap((each) => each.examples)))
    .action(
      run(async (shell, given: string, ids: string[], options: AccountsOptions) => {
        const name = chooseAction('accounts', given, NAMES);
        const action = ACTIONS.find((each) => each.name === name) ?? listAction;
        const foreign = OPTIONS.filter((each) => !action.options.includes(each));
        refuseOptions(`accounts ${name}`, options, foreign);
        return action.run(shell, chooseAccount(action, ids), options);
      }),
    );
};

/** @throws UsageError */
function chooseAccount({ name, onOne }: AccountsAction, ids: readonly string[]): string {
  const [id, more] = ids;
  if (!onOne && id !== undefined) throw new UsageError(`accounts ${name} takes no user_id`);
  if (!onOne) return '';
  if (id === undefined) throw new UsageError(`accounts ${name}: which account? "accounts list" tells them`);
  if (more !== undefined) throw new UsageError(`accounts ${name} takes one account at a time`);
  if (!/^-?\d{1,18}$/.test(id)) throw new UsageError(`${JSON.stringify(id)} is no user_id: a number`);
  return id;
}
