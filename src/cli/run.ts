import { Command, CommanderError } from 'commander';
import { addAccounts } from './accounts/accounts.ts';
import { addColumnsCommand } from './columns/columns.ts';
import type { AddCommand, Runner } from './terminal/add-command.ts';
import { addCopy } from './copy/copy.ts';
import { addDemo } from './demo/demo.ts';
import { addDistribute } from './distribute/distribute.ts';
import { addDoctor } from './doctor/doctor.ts';
import { addEvents } from './events/events.ts';
import { EXIT, EXIT_MEANINGS, type ExitCode } from './terminal/exit-code.ts';
import { exitCodeOf, failureText } from './steps/failure.ts';
import { addForget } from './forget/forget.ts';
import { addMcp } from './mcp/mcp.ts';
import { addMigrate } from './daemon/migrate.ts';
import { programVersion } from '../app/program-files.ts';
import { addQuarantine } from './quarantine/quarantine.ts';
import { refuseRemovedCommand } from './removed-commands.ts';
import { addSandbox } from './demo/sandbox.ts';
import { hasColour, widthOfTerminal, type Shell } from './terminal/shell.ts';
import { addSql } from './sql/sql.ts';
import { addStart } from './daemon/start.ts';
import { addStatus } from './status/status.ts';
import { addSubmissions } from './submissions/submissions.ts';
import { addSubmit } from './submissions/submit.ts';
import { addSync } from './sync/sync.ts';
import { addVerify } from './sync/verify.ts';

const COMMANDS: readonly AddCommand[] = [
  addStart,
  addSync,
  addVerify,
  addStatus,
  addSubmit,
  addSubmissions,
  addEvents,
  addQuarantine,
  addAccounts,
  addMigrate,
  addDoctor,
  addSql,
  addColumnsCommand,
  addDistribute,
  addForget,
  addCopy,
  addMcp,
  addSandbox,
  addDemo,
];

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
    const program = commandLine(shell, (action) => async (...rest) => {
      // Loaded only here: help needs no configuration.
      const { readEnvironment } = await import('./steps/read-environment.ts');
      readEnvironment(shell);
      code = await action(shell, ...rest);
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

/** All that can be typed. @param run makes commander's action of ours */
export function commandLine(shell: Shell, run: Runner): Command {
  const program = makeProgram(shell);
  for (const add of COMMANDS) add(program, run);
  return program;
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
