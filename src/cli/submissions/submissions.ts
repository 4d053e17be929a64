import { SUBMISSIONS_ACTIONS, USUAL_LIMITS } from '../steps/action-names.ts';
import { SUBMISSION_STATES } from '../../model/submission.ts';
import { actionArgument } from '../steps/choose-action.ts';
import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addSubmissions: AddCommand = (program, run) => {
  program
    .command('submissions')
    .summary('queued operations: list them, cancel them, release those that are held')
    .description(
      'The queue of POST operations. list tells the newest first; cancel takes back those that have not been sent, and ' +
        'ends with 1 where one has; release lets go what a restore or copy of the database holds back: only once you ' +
        'know that no other copy of this database sends it.',
    )
    .addArgument(actionArgument(SUBMISSIONS_ACTIONS))
    .argument('[id...]', 'of cancel: which submissions')
    .option('--state <state>', `only those ${SUBMISSION_STATES.join(', ')}`)
    .option('--limit <n>', `how many to list (${USUAL_LIMITS.submissions})`)
    .option('--show <id>', 'print what the service answered to one')
    .option('--json', 'as JSON on stdout')
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText(
      'after',
      examples([
        ['research-mirror submissions', 'what is queued, and what came of it'],
        ['research-mirror submissions list --state unknown', 'what may have taken effect'],
        ['research-mirror submissions list --show 12', 'the answer to one'],
        ['research-mirror submissions cancel 12 13', 'take back what was not sent'],
        ['research-mirror submissions release', 'after a restore, once it is safe'],
      ]),
    )
    .action(run(loaded(async () => (await import('./submissions-action.ts')).submissionsAction)));
};
