import { QUARANTINE_ACTIONS, USUAL_LIMITS } from '../steps/action-names.ts';
import { COLLECTION_NAMES } from '../../model/collections.ts';
import { actionArgument } from '../steps/choose-action.ts';
import { collectionsArgument } from '../steps/choose-collections.ts';
import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addQuarantine: AddCommand = (program, run) => {
  program
    .command('quarantine')
    .summary('items that could not be mirrored: list them, show them, try them again')
    .description(
      'Items that could not be mirrored are kept verbatim, with the reason. list tells them, the newest first; retry ' +
        'writes them again without a request to the service, for example when a constraint that refused them is gone, ' +
        'and ends with 1 when some still can’t be mirrored. Beside a running daemon, the daemon retries.',
    )
    .addArgument(actionArgument(QUARANTINE_ACTIONS))
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
        ['research-mirror quarantine retry research_jobs', 'try those of one collection again'],
      ]),
    )
    .action(run(loaded(async () => (await import('./quarantine-action.ts')).quarantineAction)));
};
