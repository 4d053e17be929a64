import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addCopy: AddCommand = (program, run) => {
  program
    .command('copy')
    .summary('a second mirror, in another PostgreSQL')
    .description(
      'Copies the whole mirror, history, events and submissions included, into an empty database, from one moment, beside ' +
        'a running daemon too, all or nothing. Keys and secrets stay behind. The copy sends nothing that was queued, and ' +
        'registers no webhook, until "submissions release"; its first start reads everything again. Ends with 1, nothing ' +
        'touched, where there is a mirror already.',
    )
    .usage('[options]')
    // The target is a secret: one that is typed all the same is refused.
    .argument('[nothing...]')
    .option('--data-dir <folder>', 'into an embedded Postgres in that folder, as MIRROR_DATA_DIR names one')
    .option('--json', 'what was copied, as JSON on stdout')
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText(
      'after',
      examples([
        ['MIRROR_COPY_TO_FILE=target research-mirror copy', 'into the server whose URL that file has'],
        ['research-mirror copy --data-dir second', 'into an embedded Postgres'],
      ]),
    )
    .action(run(loaded(async () => (await import('./copy-action.ts')).copyAction)));
};
