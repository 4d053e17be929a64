import { ACCOUNTS_ACTIONS } from '../steps/action-names.ts';
import { actionArgument } from '../steps/choose-action.ts';
import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

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
    .addArgument(actionArgument(ACCOUNTS_ACTIONS))
    .argument('[user_id...]', 'of which account')
    .option('--json', 'as JSON on stdout')
    .option('--remove-data', 'retire: removes all its rows, too')
    .option('--undo', 'retire: takes the account back')
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText(
      'after',
      examples([
        ['research-mirror accounts', 'who is mirrored, and by which keys'],
        ['research-mirror accounts retire 42', 'mirrors it no more; its data stay'],
        ['research-mirror accounts retire 42 --remove-data', 'and removes its data'],
        ['research-mirror accounts retire 42 --undo', 'takes it back'],
        ['research-mirror accounts move 1001', 'its service has moved to MIRROR_API_URL'],
      ]),
    )
    .action(run(loaded(async () => (await import('./accounts-action.ts')).accountsAction)));
};
