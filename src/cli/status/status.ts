import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addStatus: AddCommand = (program, run) => {
  program
    .command('status')
    .summary('what is mirrored, how fresh it is, and what is wrong')
    .description(
      'What is mirrored, how fresh it is, what is due, and what is wrong. Ends with 0 when the mirror is healthy, with 1 ' +
        'when it is not. Asks the database only: works beside a running daemon, and without one.',
    )
    .option('--json', 'as JSON, for monitoring')
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText(
      'after',
      examples([
        ['research-mirror status', 'for people'],
        ['research-mirror status > /dev/null || echo "look at the mirror"', 'for scripts'],
        ["research-mirror status --json | jq '.problems'", 'for monitoring'],
      ]),
    )
    .action(run(loaded(async () => (await import('./status-action.ts')).statusAction)));
};
