import { OPERATION_NAMES } from '../../model/submission.ts';
import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addSubmit: AddCommand = (program, run) => {
  program
    .command('submit')
    .summary('queue one of the service’s POST operations, and wait for its answer')
    .description(
      'Queues a POST operation and waits for what comes of it; the daemon sends it, within its rate limit and at most ' +
        'once. Where no daemon has the account, this command sends it itself, and nothing else. Ends with 0 when the ' +
        'service accepted it, with 1 when it refused it, with 4 when the outcome is unknown: never repeat it then.',
    )
    .argument('<operation>', `one of ${OPERATION_NAMES.join(', ')}`)
    .option('--id <id>', 'of list_analyze the list, of sequence the research job')
    .option('--user <id>', 'the account; needed where there are several')
    .option(
      '--data <json>',
      'the payload, a JSON object: as text, @file, or - for standard input; needed unless there is an --id (an empty payload may cost credits)',
    )
    .option('--key <key>', 'idempotency key: the same key gives the same submission, whenever it is repeated')
    .option('--no-wait', 'queue it and end')
    .option('--json', 'the submission as JSON on stdout')
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText(
      'after',
      examples([
        [`research-mirror submit research --data '{"company_url": "https://example.com"}'`, 'one job'],
        ['research-mirror submit list_analyze --id 17', 'an operation on a list'],
        [
          'research-mirror submit bulk_research --data @companies.json --key 2026-03',
          'once, however often it is run',
        ],
        ['research-mirror submissions', 'what is queued, and what came of it'],
      ]),
    )
    .action(run(loaded(async () => (await import('./submit-action.ts')).submitAction)));
};
