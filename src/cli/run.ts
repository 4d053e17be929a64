/** The frame of the command line: picks the command, loads its file, turns errors into exit codes. */

import { Command, CommanderError, Option } from 'commander';
import { programVersion } from '../config/program.ts';
import { chooseFrom, refuseOptions } from '../terminal/given.ts';
import {
  type Definition,
  EXIT,
  EXIT_MEANINGS,
  type ExitCode,
  exitCodeOf,
  failureText,
  hasColour,
  type Shell,
  UsageError,
  widthOfTerminal,
} from '../terminal/shell.ts';
import { KEEPING } from './keeping.ts';
import { MIRRORING } from './mirroring.ts';

const AFTER_HELP = `
Exit codes:
${Object.entries(EXIT_MEANINGS)
  .map(([code, means]) => `  ${code.padEnd(5)}${means}`)
  .join('\n')}

--json prints JSON on stdout, and everything else on stderr.
Configuration comes from the environment or from .env: MIRROR_API_URL, MIRROR_API_KEY and more (docs/settings.md).

Examples:
  $ npx research-mirror demo                                        # no account needed: see it work
  $ npx research-mirror start                                       # mirror a real account, and keep it current
  $ npx research-mirror sql "select * from freshness"               # look at the mirror`;

/** Runs the command line. Never throws. @param args without node and script */
export async function runCommandLine(args: readonly string[], shell: Shell): Promise<ExitCode> {
  let code: ExitCode = EXIT.DONE;
  try {
    refuseRemovedCommand(args);
    const program = commandLine(shell, async (action) => {
      // Loaded only here, since help needs no configuration.
      const { readEnvironment } = await import('./dot-env.ts');
      readEnvironment(shell);
      code = await action();
    });
    await program.parseAsync(withoutHelpForUnknown(args, program), { from: 'user' });
    return code;
  } catch (error) {
    // Commander has reported the problem. Help and version are errors with code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.DONE : EXIT.USAGE;
    const stack = /^(debug|trace)$/i.test(shell.env['LOG_LEVEL'] ?? '');
    shell.err.write(shell.scrubber.scrub(failureText(error, stack)));
    return exitCodeOf(error);
  }
}

/** Commander's help succeeds for unknown commands, too. Only the name without options makes commander report it. */
function withoutHelpForUnknown(args: readonly string[], program: Command): readonly string[] {
  const [name] = namesIn(args);
  const isKnown = name === undefined || name === 'help' || program.commands.some((each) => each.name() === name);
  return isKnown ? args : [name];
}

/** All commands. @param run executes the chosen one */
export function commandLine(shell: Shell, run: (action: () => Promise<ExitCode>) => Promise<void>): Command {
  const program = new Command('research-mirror')
    .description('Mirrors an account of a Research & Enrichment Service into Postgres.')
    .version(programVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print the help')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', AFTER_HELP)
    .showHelpAfterError('Add --help for the usage.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => shell.out.write(text),
      writeErr: (text) => shell.err.write(shell.scrubber.scrub(text)),
      outputError: (text, write) => write(text.replace(/^error: /, 'research-mirror: ')),
      getOutHelpWidth: () => widthOfTerminal(shell.out) ?? 100,
      getErrHelpWidth: () => widthOfTerminal(shell.err) ?? 100,
      getOutHasColors: () => hasColour(shell.out, shell.env),
      getErrHasColors: () => hasColour(shell.err, shell.env),
    });
  for (const [name, definition] of Object.entries({ ...MIRRORING, ...KEEPING })) {
    const { actions, load } = definition;
    const command = define(program, name, definition);
    command.action(async (...args) => {
      if (actions !== undefined) {
        const action = chooseFrom(Object.keys(actions), String(args[0]), `${name} has no action`);
        refuseOptions(`${name} ${action}`, command.opts(), actions[action] ?? []);
      }
      // Commander passes what the definition says.
      await run(async () => (await load())(shell, ...(args as never[])));
    });
  }
  return program;
}

function define(program: Command, name: string, definition: Definition): Command {
  const { summary, description, usage, actions, examples } = definition;
  const widest = Math.max(...examples.map(([command]) => command.length));
  const shown = examples.map(([command, does]) => `\n  $ ${command.padEnd(widest)}  # ${does}`);
  const command = program
    .command(name)
    .summary(summary)
    .description(description)
    .addHelpText('after', `\nExamples:${shown.join('')}`);
  if (usage !== undefined) command.usage(usage);
  if (actions !== undefined) {
    const names = Object.keys(actions);
    command.argument('[action]', names.join(', ').replace(/, ([^,]*)$/, ' or $1'), names[0]);
  }
  for (const [flags, does] of Object.entries(definition.arguments ?? {})) command.argument(flags, does);
  for (const [flags, does] of Object.entries(definition.options ?? {})) {
    const option = new Option(flags, does);
    // Commander would treat `--no-webhook <choice>` as the negation of another option.
    option.negate = false;
    command.addOption(option);
  }
  return command;
}

/** Removed commands, as `name` or `name action`, with the sentence that says what to use instead. */
export const REMOVED_COMMANDS: Readonly<Record<string, string>> = {
  export:
    'export was removed: use "research-mirror sql --csv \'select * from TABLE\' > FILE" for CSV, and DuckDB to turn that into ' +
    'Parquet (docs/exports.md, "As CSV and as Parquet").',
  completion:
    'completion was removed without a replacement: "research-mirror --help" lists the commands, and "--help" after a command ' +
    'lists its options.',
  indexes:
    'indexes was removed: use the query in docs/indexes.md ("Indexes for your questions") to print a statement for each index, ' +
    'and "drop index concurrently" to drop one; existing indexes stay.',
  dump:
    'dump was removed: use pg_dump for a backup of a server (docs/backups.md, "A backup with pg_dump"), or "research-mirror ' +
    'copy" for a second mirror.',
  restore:
    'restore was removed: use pg_restore to restore a backup (docs/backups.md, "A backup with pg_dump"), or "research-mirror ' +
    'copy" for a second mirror.',
  'quarantine retry':
    'quarantine retry was removed: use "research-mirror sync --full", which tries quarantined items again, as each full walk does.',
  'columns retype':
    'columns retype was removed: use "research-mirror columns set-type TABLE.COLUMN TYPE", which first says what would not fit.',
};

/** @param args without node and script @throws UsageError if they name a removed command */
function refuseRemovedCommand(args: readonly string[]): void {
  const [name, ...others] = namesIn(args);
  // An action may follow the value of an option: `quarantine --limit 5 retry`.
  const names = name === undefined ? [] : [name, ...others.map((other) => `${name} ${other}`)];
  const removed = names.find((each) => Object.hasOwn(REMOVED_COMMANDS, each));
  if (removed !== undefined) throw new UsageError(REMOVED_COMMANDS[removed]);
}

/** The words of the command line: the command's name first, also after `help`. */
function namesIn(args: readonly string[]): readonly string[] {
  const words = args.filter((word) => !word.startsWith('-'));
  return words[0] === 'help' ? words.slice(1) : words;
}
