import { UsageError } from './terminal/exit-code.ts';

/** Commands that there were once, as `name` or `name action`, and the sentence that says what to use instead. */
export const REMOVED_COMMANDS: Readonly<Record<string, string>> = {
  export:
    'export was removed: "research-mirror sql --csv \'select * from TABLE\' > FILE" writes all of a table as CSV, and DuckDB ' +
    'makes Parquet of that (docs/recipes.md, "As CSV and as Parquet").',
  completion:
    'completion was removed, and nothing takes its place: "research-mirror --help" lists the commands, and ' +
    '"--help" behind a command its options.',
  indexes:
    'indexes was removed: a query in docs/recipes.md ("Indexes for your questions") prints a statement for each index, ' +
    '"drop index concurrently" drops one, and nothing touches those that are there.',
  dump:
    'dump was removed: pg_dump makes a backup of a server (docs/operations.md, "A backup with pg_dump"), and "research-mirror ' +
    'copy" makes a second mirror.',
  restore:
    'restore was removed: pg_restore brings a backup back (docs/operations.md, "A backup with pg_dump"), and "research-mirror ' +
    'copy" makes a second mirror.',
  'quarantine retry':
    'quarantine retry was removed: "research-mirror sync --full" tries again what is in quarantine, and so does each full walk.',
  'columns retype':
    'columns retype was removed: "research-mirror columns set-type TABLE.COLUMN TYPE" gives a column another type, and says ' +
    'first what would not fit.',
};

/** @throws UsageError where `args`, without node and script, name a removed command, whatever follows it */
export function refuseRemovedCommand(args: readonly string[]): void {
  const words = args.filter((word) => !word.startsWith('-'));
  const [name, ...others] = words[0] === 'help' ? words.slice(1) : words;
  // An action may stand behind the value of an option: `quarantine --limit 5 retry`.
  const names = name === undefined ? [] : [name, ...others.map((other) => `${name} ${other}`)];
  const removed = names.find((each) => Object.hasOwn(REMOVED_COMMANDS, each));
  if (removed !== undefined) throw new UsageError(REMOVED_COMMANDS[removed]);
}
