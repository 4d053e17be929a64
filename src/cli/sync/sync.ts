import { COLLECTION_NAMES } from '../../model/collections.ts';
import { collectionsArgument } from '../steps/choose-collections.ts';
import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addSync: AddCommand = (program, run) => {
  program
    .command('sync')
    .summary('one pass over the service now, with progress')
    .description(
      'One pass now. Ends with 0 when the mirror holds all new rows, and all changes of rows that may still change, ' +
        'as of its beginning; with --full everything, deletions included (less MIRROR_SETTLE, by which the service’s ' +
        'replicas may lag): what is missing is read again after that time; 1 tells that the brake holds deletions back, or that Postgres refuses rows, ' +
        '3 that it could not be made sure. Beside a running daemon, the daemon does the work.',
    )
    .addArgument(
      collectionsArgument(`which ones; default: MIRROR_COLLECTIONS (${COLLECTION_NAMES.join(', ')})`),
    )
    .option('--full', 'read everything, not only what can be new')
    .option('--accept-deletions', 'with --full: lets go what the brake holds back, however much it is')
    .option('--json', 'the result as JSON on stdout')
    .option('--demo', "the demo's mirror, while it runs")
    .addHelpText(
      'after',
      examples([
        ['research-mirror sync', 'what is new, of all collections'],
        ['research-mirror sync lists list_items --full', 'everything of these two'],
        ['research-mirror sync lists --full --accept-deletions', 'when most lists were deleted on purpose'],
        ['research-mirror sync --json | jq .requests', 'for scripts'],
      ]),
    )
    .action(run(loaded(async () => (await import('./sync-action.ts')).syncAction)));
};
