import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addDemo: AddCommand = (program, run) => {
  program
    .command('demo')
    .summary('see it work: emulated service, embedded Postgres and daemon in one')
    .description(
      'Emulated service, embedded Postgres and daemon in one, until Ctrl-C. Needs no configuration, uses none of your ' +
        'account or database, takes free ports (the same ones at each start), and keeps its data in ' +
        'data/demo: remove that folder to begin anew. A second one tells where the first one runs.',
    )
    .addHelpText(
      'after',
      examples([
        ['npx research-mirror demo', 'then, in another terminal:'],
        ['npx research-mirror sql "select * from freshness"', 'what is mirrored, and how fresh'],
      ]),
    )
    .action(run(loaded(async () => (await import('./demo-action.ts')).demoAction)));
};
