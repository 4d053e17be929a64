import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addMcp: AddCommand = (program, run) => {
  program
    .command('mcp')
    .summary('the mirror for language models: Model Context Protocol on stdio')
    .description(
      'Serves the Model Context Protocol on stdin and stdout, until stdin is closed: tables and columns with what they ' +
        'mean, queries, freshness, changes. All of it is read by the login by which sql reads, 1,000 rows and 60 seconds ' +
        'at most. For the configuration of a client, not for people.',
    )
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText(
      'after',
      examples([
        ['claude mcp add mirror -- npx research-mirror mcp', 'for one client; others take the same command'],
        ['DATABASE_URL=postgres://mirror_sql:…@host/db npx research-mirror mcp', 'beside a server of yours'],
      ]),
    )
    .action(run(loaded(async () => (await import('./mcp-action.ts')).mcpAction)));
};
