import { Command, CommanderError, Option } from 'commander';
import { programVersion } from '../app/program-files.ts';
import type { Definition } from './definitions/definition.ts';
import { KEEPING } from './definitions/keeping.ts';
import { MIRRORING } from './definitions/mirroring.ts';
import { refuseRemovedCommand } from './removed-commands.ts';
import { chooseFrom, refuseOptions } from './steps/given.ts';
import { EXIT, EXIT_MEANINGS, exitCodeOf, failureText, type ExitCode } from './terminal/exit-code.ts';
import { hasColour, widthOfTerminal, type Shell } from './terminal/shell.ts';

const AFTER_HELP = `
Exit codes:
${Object.entries(EXIT_MEANINGS)
  .map(([code, means]) => `  ${code.padEnd(5)}${means}`)
  .join('\n')}

--json prints JSON on stdout, and everything else on stderr.
Configuration comes from the environment or from .env: MIRROR_API_URL, MIRROR_API_KEY and more (docs/settings.md).

Examples:
  $ npx research-mirror demo                                        # no account needed: see it work
  $ npx research-mirror start                                       # mirror a real account, and go on
  $ npx research-mirror sql "select * from freshness"               # look at the mirror`;

/** Runs the command line and says how it ended. Never throws. @param args without node and script */
export async function runCommandLine(args: readonly string[], shell: Shell): Promise<ExitCode> {
  let code: ExitCode = EXIT.DONE;
  try {
    refuseRemovedCommand(args);
    const program = commandLine(shell, async (action) => {
      // Loaded only here: help needs no configuration.
      const { readEnvironment } = await import('./terminal/dot-env.ts');
      readEnvironment(shell);
      code = await action();
    });
    await program.parseAsync(withoutHelpForUnknown(args, program), { from: 'user' });
    return code;
  } catch (error) {
    // Commander has already said what was wrong; help and version are "errors" with code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.DONE : EXIT.USAGE;
    const stack = /^(debug|trace)$/i.test(shell.env['LOG_LEVEL'] ?? '');
    shell.err.write(shell.scrubber.scrub(failureText(error, stack)));
    return exitCodeOf(error);
  }
}

/**
 * Commander helps with everything, and says that it went well: of a command that there is not, it is to say so. Then
 * its name alone is passed on.
 */
function withoutHelpForUnknown(args: readonly string[], program: Command): readonly string[] {
  const words = args.filter((word) => !word.startsWith('-'));
  const name = words[0] === 'help' ? words[1] : words[0];
  const isKnown =
    name === undefined || name === 'help' || program.commands.some((each) => each.name() === name);
  return isKnown ? args : [name];
}

/** All that can be typed. @param run does what was typed */
export function commandLine(shell: Shell, run: (action: () => Promise<ExitCode>) => Promise<void>): Command {
  const program = makeProgram(shell);
  for (const [name, definition] of Object.entries({ ...MIRRORING, ...KEEPING })) {
    const { actions, load } = definition;
    const command = define(program, name, definition);
    command.action(async (...args) => {
      if (actions !== undefined) {
        const action = chooseFrom(Object.keys(actions), String(args[0]), `${name} can't`);
        refuseOptions(`${name} ${action}`, command.opts(), actions[action] ?? []);
      }
      // Commander gives what the definition says.
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
    // Commander would take `--no-webhook <choice>` for the negation of another option.
    option.negate = false;
    command.addOption(option);
  }
  return command;
}

function makeProgram(shell: Shell): Command {
  return new Command('research-mirror')
    .description('Mirrors an account of a Research & Enrichment Service into Postgres.')
    .version(programVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'how to use it')
    .helpCommand('help [command]', 'how to use a command')
    .addHelpText('after', AFTER_HELP)
    .showHelpAfterError('Add --help to see how it is used.')
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
}
