import { USUAL_LIMITS } from '../steps/action-names.ts';
import { COLLECTION_NAMES } from '../../model/collections.ts';
import { collectionsArgument } from '../steps/choose-collections.ts';
import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addQuarantine: AddCommand = (program, run) => {
  program
    .command('quarantine')
    .summary('items that could not be mirrored: list them, show them')
    .description(
      'Items that could not be mirrored are kept verbatim, with the reason. list tells them, the newest first. Full walks ' +
        'and sync --full try them again, for example when a constraint that refused them is gone.',
    )
    .argument('[action]', 'list', 'list')
    .addArgument(collectionsArgument(`only of these (${COLLECTION_NAMES.join(', ')})`))
    .option('--show <id>', 'print one item as the service sent it')
    .option('--limit <n>', `how many to list (${USUAL_LIMITS.quarantine})`)
    .option('--json', 'as JSON on stdout')
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText(
      'after',
      examples([
        ['research-mirror quarantine', 'what is there, and why'],
        ['research-mirror quarantine list --show 3f786850e387550f', 'one of them, verbatim'],
      ]),
    )
    .action(run(loaded(async () => (await import('./quarantine-action.ts')).quarantineAction)));
};
