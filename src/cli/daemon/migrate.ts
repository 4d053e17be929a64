import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addMigrate: AddCommand = (program, run) => {
  program
    .command('migrate')
    .summary("bring the database to this program's version")
    .description(
      "Brings the database to this program's version; start and sync do so by themselves. A database of a newer " +
        'program, on which this one may not run, is left alone, and the command ends with 1. So it does where something ' +
        'that a migration made is gone.',
    )
    .option('--check', 'only tell: ends with 1 when the database is behind')
    .option('--json', 'the answer as JSON')
    .addHelpText(
      'after',
      examples([
        ['research-mirror migrate --check', 'would start change the schema?'],
        ['DATABASE_URL=postgres://owner@… research-mirror migrate', 'as another user than the daemon'],
      ]),
    )
    .action(run(loaded(async () => (await import('./migrate-action.ts')).migrateAction)));
};
