import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addRestore: AddCommand = (program, run) => {
  program
    .command('restore')
    .summary('a mirror out of a dump')
    .description(
      'Makes the mirror of a dump where there is none yet (DATABASE_URL, else the embedded Postgres), all of it or ' +
        'nothing. It sends nothing that was queued, and registers no webhook, until "submissions release"; and it is ' +
        'read again in full at the next start. Ends with 1, nothing touched, where there is a mirror already, or where ' +
        'the file is damaged, no dump, or of a newer program.',
    )
    .argument('<file>', 'what "dump" wrote')
    .option('--json', 'what was restored, as JSON on stdout')
    .addHelpText(
      'after',
      examples([
        ['research-mirror restore mirror.dump', 'into the embedded Postgres'],
        ['DATABASE_URL=postgres://… research-mirror restore mirror.dump', 'into a server of your own'],
      ]),
    )
    .action(run(loaded(async () => (await import('./restore-action.ts')).restoreAction)));
};
