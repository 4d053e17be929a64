import { COLUMNS_ACTIONS } from '../steps/action-names.ts';
import { actionArgument } from '../steps/choose-action.ts';
import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addColumnsCommand: AddCommand = (program, run) => {
  program
    .command('columns')
    .summary('columns made for fields, and values that did not fit')
    .description(
      'Columns that the mirror made for fields of the items. list shows their types, and of values that did not fit ' +
        '(they are NULL in the column, whole in _raw) how many there were, an example, and a type that would take all. ' +
        'set-type gives a column another type (text, numeric, bigint, boolean, timestamptz or jsonb): it says first what ' +
        'would not fit, and asks; then every row and version gets its value from _raw, and nothing counts as changed. Works ' +
        'beside a running daemon and readers. What others built on the column (a view, an index) has to go first: it is named.',
    )
    .addArgument(actionArgument(COLUMNS_ACTIONS))
    .argument('[table.column]', 'set-type: which column')
    .argument('[type]', 'set-type: its new type')
    .option('--dry-run', 'set-type: only say what would not fit')
    .option('--yes', 'set-type: without a question')
    .option('--json', 'list: as JSON on stdout')
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText(
      'after',
      examples([
        ['research-mirror columns', 'what there is, and what did not fit'],
        [
          'research-mirror columns set-type research_jobs.score jsonb --dry-run',
          'would every value fit? 0 yes, 1 no',
        ],
        ['research-mirror columns set-type research_jobs.score jsonb', 'do it'],
      ]),
    )
    .action(run(loaded(async () => (await import('./columns-action.ts')).columnsAction)));
};
