import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addDump: AddCommand = (program, run) => {
  program
    .command('dump')
    .summary('the whole mirror into one file')
    .description(
      'Writes all that the mirror is, history, events and submissions included, into one compressed file, from one ' +
        'moment, beside a running daemon too. "restore" makes a mirror of it, on any PostgreSQL from 15 on. It contains ' +
        'no key, no secret, and nothing of other tables, roles, views or indexes of yours.',
    )
    .requiredOption('-o, --output <file>', 'where to: replaced once the new one is whole')
    .option('--json', 'what was written, as JSON on stdout')
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText('after', examples([['research-mirror dump -o mirror.dump', 'all of it']]))
    .action(run(loaded(async () => (await import('./dump-action.ts')).dumpAction)));
};
