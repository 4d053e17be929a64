import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addStart: AddCommand = (program, run) => {
  program
    .command('start')
    .summary('the daemon: mirror, and keep the mirror current')
    .description(
      'The daemon: brings the database to this version, checks the keys, registers the webhooks, polls the service, sends what ' +
        'is queued and serves the status page. ' +
        'Needs MIRROR_API_URL and MIRROR_API_KEY, in the environment or in .env. Its log goes to stdout.',
    )
    .addHelpText(
      'after',
      examples([
        [
          'MIRROR_API_URL=https://api.example.com MIRROR_API_KEY=… research-mirror start',
          'embedded Postgres',
        ],
        ['DATABASE_URL=postgres://… research-mirror start', 'your own Postgres; the rest from .env'],
      ]),
    )
    .action(run(loaded(async () => (await import('./start-action.ts')).startAction)));
};
