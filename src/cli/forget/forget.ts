import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addForget: AddCommand = (program, run) => {
  program
    .command('forget')
    .summary("erases a person's or company's rows for good")
    .description(
      'Erases rows by their keys: the row, its versions, events and quarantined items about it, what submissions sent ' +
        'and got that names it; a list with its items. A hash of the key is kept, so that no walk and no event ' +
        'brings it back. Works beside a running daemon. What was copied elsewhere (copies, backups, replicas) stays there.',
    )
    .argument('[table]', 'research_jobs, bulk_research_jobs, lists, list_items or watchlist')
    .argument('[key...]', 'keys as in the table; of an item of a list LIST:ID')
    .option('--user <user_id>', 'of which account, where there are several')
    .option('--yes', 'without a question')
    .option('--dry-run', 'only say what would go')
    .option('--undo', 'let it be mirrored again: what the service still has comes with the next full walk')
    .option('--list', 'what is forgotten, by hashes of keys')
    .option('--json', 'as JSON on stdout')
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText(
      'after',
      examples([
        ['research-mirror forget research_jobs 1017 --dry-run', 'what would go'],
        ['research-mirror forget list_items 7:abc 7:def --yes', 'two items of list 7'],
        ['research-mirror forget --list', 'what is kept out'],
        ['research-mirror forget research_jobs 1017 --undo', 'let it come back'],
      ]),
    )
    .action(run(loaded(async () => (await import('./forget-action.ts')).forgetAction)));
};
