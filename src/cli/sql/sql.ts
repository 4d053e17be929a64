import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addSql: AddCommand = (program, run) => {
  program
    .command('sql')
    .summary('run a query in the mirror and print the answer')
    .description(
      'Runs one query in the mirror, as a login that can only read, and prints the answer. Tables of the mirror need ' +
        'no schema before their names; times are UTC. Works beside a running daemon or demo, and without one. With ' +
        'DATABASE_URL, the login is one that you make: the command says how.',
    )
    .argument('<query>', 'one statement, in quotes')
    .option('--csv', 'rows as CSV (RFC 4180), with a line of titles; NULL is empty; every row, every digit')
    .option('--json', 'a JSON object whose "rows" are objects; every row, every digit')
    .option(
      '--vertical',
      'a line for each column instead of each row; a terminal too narrow for the titles gets it anyhow',
    )
    .option('--timeout <duration>', 'give up after that long', '60s')
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText(
      'after',
      examples([
        ['research-mirror sql "select * from freshness"', 'what is mirrored, and how fresh'],
        ['research-mirror sql "select status, count(*) from research_jobs_live group by 1"', 'jobs by state'],
        ['research-mirror sql --vertical "select * from research_jobs limit 1"', 'one row, whole'],
        ['research-mirror sql --json "select * from lists_live" | jq \'.rows[]\'', 'for programs'],
        ['research-mirror sql --csv "select * from lists_live" > lists.csv', 'for spreadsheets'],
      ]),
    )
    .action(run(loaded(async () => (await import('./sql-action.ts')).sqlAction)));
};
