import { INDEXES_ACTIONS } from '../steps/action-names.ts';
import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addIndexes: AddCommand = (program, run) => {
  program
    .command('indexes')
    .summary("optional indexes for analysts' usual questions")
    .description(
      'Optional indexes of the mirrored tables. list shows which there are, which are suggested, how large they are and ' +
        'how often they were used. create makes them while everything goes on (CREATE INDEX CONCURRENTLY), and the daemon ' +
        'keeps them: it makes one anew that was lost, and one whose column comes later. drop removes those that create made. ' +
        'Indexes of your own are welcome: they are listed as “other”, and nothing touches them.',
    )
    .argument('[action]', INDEXES_ACTIONS.join(' or '), 'list')
    .argument('[name...]', 'create, drop: which')
    .option('--all', 'create: all that are suggested, now and later; drop: all that create made')
    .option('--json', 'as JSON on stdout')
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText(
      'after',
      examples([
        ['research-mirror indexes', 'what there is, and what is suggested'],
        ['research-mirror indexes create research_jobs_by_key', 'for tools that join by _key'],
        ['research-mirror indexes create --all', 'all that are suggested; their columns may come later'],
        ['research-mirror indexes drop --all', 'and back'],
      ]),
    )
    .action(run(loaded(async () => (await import('./indexes-action.ts')).indexesAction)));
};
