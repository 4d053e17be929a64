import { EVENTS_ACTIONS, USUAL_LIMITS } from '../steps/action-names.ts';
import { actionArgument } from '../steps/choose-action.ts';
import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addEvents: AddCommand = (program, run) => {
  program
    .command('events')
    .summary('received events: list them, show them, take them up again')
    .description(
      'Deliveries of the webhook whose signature was right. list tells the newest first; replay takes events up again ' +
        'as if they had just come: the daemon reads what they name, and the command shows how far it is.',
    )
    .addArgument(actionArgument(EVENTS_ACTIONS))
    .argument('[id...]', 'of replay: which events')
    .option('--type <type>', 'only events of this type, such as research.completed')
    .option('--limit <n>', `how many to list (${USUAL_LIMITS.events})`)
    .option('--show <id>', 'print one as it was delivered')
    .option('--json', 'as JSON on stdout')
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText(
      'after',
      examples([
        ['research-mirror events', 'what came last'],
        ['research-mirror events list --type list.failed --limit 10', 'the last failures of lists'],
        ['research-mirror events list --show evt_1', 'one of them, verbatim'],
        ['research-mirror events replay evt_1 evt_2', 'read again what these name'],
      ]),
    )
    .action(run(loaded(async () => (await import('./events-action.ts')).eventsAction)));
};
