import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addDoctor: AddCommand = (program, run) => {
  program
    .command('doctor')
    .summary('what start needs: configuration, service, keys, database, webhook; with the remedy')
    .description(
      'Looks at everything that start needs, and says in a line each what is fine, what is broken, and what mends it. ' +
        'Changes nothing, and works beside a running daemon; it sends a ping for each key and a request for each collection. ' +
        'Ends with 0 when nothing is broken, with 1 when something is, with 2 for a wrong configuration, with 3 when ' +
        'something could not be found out.',
    )
    .option(
      '--sql',
      'print what a DBA has to run by psql: logins, database, schemas, roles; asks no database',
    )
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['research-mirror doctor', 'what is wrong, and what to do'],
        ['research-mirror doctor --json | jq \'.checks[] | select(.state == "broken")\'', 'for programs'],
        ['research-mirror doctor --sql > dba.sql', 'for the DBA of your Postgres'],
      ]),
    )
    .action(run(loaded(async () => (await import('./doctor-action.ts')).doctorAction)));
};
