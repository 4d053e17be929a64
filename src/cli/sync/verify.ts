import { COLLECTION_NAMES } from '../../model/collections.ts';
import { collectionsArgument } from '../steps/choose-collections.ts';
import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addVerify: AddCommand = (program, run) => {
  program
    .command('verify')
    .summary('read the service again and compare the mirror with it, row by row')
    .description(
      'Reads the service again and compares the mirror with it in every row and field; writes no row. What differs is ' +
        'read a second time before it is told. Ends with 0 when they are equal, with 1 when they are not. It takes as ' +
        'many requests as a full walk, and says at its beginning how many that are; with --sample a few. Beside a running ' +
        'daemon, the daemon does the work.',
    )
    .addArgument(
      collectionsArgument(`which ones; default: MIRROR_COLLECTIONS (${COLLECTION_NAMES.join(', ')})`),
    )
    .option(
      '--sample <rows>',
      'compare only so many rows of each collection, chosen at random, and what else is on their pages: no proof that all are equal',
    )
    .option('--json', 'the result as JSON on stdout, with up to 1,000 discrepancies of each collection')
    .option('--demo', "the demo's mirror, while it runs")
    .addHelpText(
      'after',
      examples([
        ['research-mirror verify', 'everything'],
        ['research-mirror verify lists list_items', 'these two'],
        ["research-mirror verify --json | jq '.collections[].discrepancies'", 'for scripts'],
      ]),
    )
    .action(run(loaded(async () => (await import('./verify-action.ts')).verifyAction)));
};
