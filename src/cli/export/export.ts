import { examples, loaded, type AddCommand } from '../terminal/add-command.ts';

export const addExport: AddCommand = (program, run) => {
  program
    .command('export')
    .summary('write all of a table or view as CSV or Parquet')
    .description(
      'Writes all rows and columns of a table or view of the mirror, every digit of them, as the login by which sql ' +
        'reads. A file takes its name when it is whole, and replaces one that is there only then. For a part of a ' +
        'table: sql --csv.',
    )
    .argument('<table>', 'its name, such as lists, lists_live or freshness')
    .option('--csv', 'as CSV (RFC 4180), with a line of titles; NULL is empty')
    .option('--parquet', 'as Parquet: numbers, moments and dates as such where every value fits, else text')
    .option('-o, --output <file>', 'where to; default: stdout')
    .option('--json', 'with --output: what was written, as JSON on stdout')
    .option('--timeout <duration>', 'give up reading after that long', '1h')
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText(
      'after',
      examples([
        ['research-mirror export research_jobs_live --csv -o jobs.csv', 'for spreadsheets'],
        ['research-mirror export research_jobs --parquet -o jobs.parquet', 'for DuckDB, pandas, Spark'],
        ['research-mirror export list_items_versions --csv | gzip > items.csv.gz', 'through a pipe'],
      ]),
    )
    .action(run(loaded(async () => (await import('./export-action.ts')).exportAction)));
};
