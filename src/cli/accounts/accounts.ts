import { actionArgument, chooseAction, refuseOptions } from '../steps/choose-action.ts';
import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';
import { UsageError } from '../terminal/usage-error.ts';
import type { AccountsAction, AccountsOptions } from './action.ts';

const LIST: AccountsAction = {
  name: 'list',
  onOne: false,
  options: ['json', 'demo'],
  examples: [['research-mirror accounts', 'who is mirrored, and by which keys']],
  run: loaded(async () => (await import('./list.ts')).listAction),
};

const ACTIONS: readonly AccountsAction[] = [
  LIST,
  {
    name: 'retire',
    onOne: true,
    options: ['json', 'demo', 'removeData', 'undo'],
    examples: [
      ['research-mirror accounts retire 42', 'mirrors it no more; its data stay'],
      ['research-mirror accounts retire 42 --remove-data', 'and removes its data'],
      ['research-mirror accounts retire 42 --undo', 'takes it back'],
    ],
    run: loaded(async () => (await import('./retire.ts')).retireAction),
  },
  {
    name: 'move',
    onOne: true,
    options: ['json'],
    examples: [['research-mirror accounts move 1001', 'its service has moved to MIRROR_API_URL']],
    run: loaded(async () => (await import('./move.ts')).moveAction),
  },
];
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
        const action = ACTIONS.find((each) => each.name === name) ?? LIST;
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
