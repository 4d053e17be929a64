import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@research-mirror/runtime/clock';
import { Scrubber } from '@research-mirror/runtime/scrub';
import { commandLine } from '../src/cli/run.ts';
import { EXIT_MEANINGS } from '../src/terminal/shell.ts';

// `npm run -s commands-page`: compares docs/commands.md with the command line's definitions, and ends with 1 where it
// differs. With `-- --write` it makes it equal.

/** Commander's command. */
export type Command = ReturnType<typeof commandLine>;

export const COMMANDS_PAGE = join(import.meta.dirname, '..', 'docs', 'commands.md');

/** The page with what is generated in it made anew. @throws Error where a marker is missing */
export function withCommands(text: string): string {
  const marked = /(^<!-- commands: .*\n)[\s\S]*?(^<!-- end of commands\b)/m;
  if (!marked.test(text)) throw new Error('the markers "commands: …" and "end of commands" are missing');
  return text.replace(marked, (_, begin: string, end: string) => `${begin}\n${commands()}\n\n${end}`);
}

/** The command line as commander knows it; nothing of it is run. @param write gets what is printed */
export function definedCommands(write: (text: string) => void = () => {}): Command {
  const terminal = { write };
  const { signal } = new AbortController();
  const shell = {
    env: {},
    out: terminal,
    err: terminal,
    signal,
    clock: systemClock,
    scrubber: new Scrubber(),
  };
  return commandLine(shell, async () => {});
}

function commands(): string {
  let printed = '';
  const program = definedCommands((text) => (printed += text));
  const help = program.createHelp();
  const listed = help.visibleCommands(program).filter((command) => command.name() !== 'help');
  const codes = Object.entries(EXIT_MEANINGS).map(([code, means]) => `| ${code} | ${means} |`);
  const lines = listed.map((command) => {
    const name = command.name();
    return `| [\`${name}\`](#${name}) | ${plain(command.summary())} |`;
  });
  const sections = listed.map((command) => {
    printed = '';
    command.outputHelp();
    return section(command, help, printed.slice(command.helpInformation().length));
  });
  return [
    ['| exit code | means |', '|---|---|', ...codes].join('\n'),
    ['| command | does |', '|---|---|', ...lines].join('\n'),
    ...sections,
  ].join('\n\n');
}

/** @param after what the command's help shows behind its options: examples */
function section(command: Command, help: ReturnType<Command['createHelp']>, after: string): string {
  const rows = [
    ...help.visibleArguments(command).map((each) => [each.name(), help.argumentDescription(each)] as const),
    ...help
      .visibleOptions(command)
      .filter(({ long }) => long !== '--help')
      .map((each) => [each.flags, help.optionDescription(each)] as const),
  ].map(([typed, does]) => `| \`${typed.replaceAll('|', '\\|')}\` | ${plain(does)} |`);
  const examples = [...after.matchAll(/^ {2}\$ (.*)$/gm)].map(([, line = '']) => line);
  return [
    `## ${command.name()}`,
    plain(command.description()),
    `\`${help.commandUsage(command)}\``,
    ...(rows.length === 0 ? [] : [['| | |', '|---|---|', ...rows].join('\n')]),
    ['```sh', ...examples, '```'].join('\n'),
  ].join('\n\n');
}

/** Plain text as Markdown, in a cell, too: options and names of variables and columns are code. */
function plain(text: string): string {
  return text.replaceAll(/[\\<|*]/g, String.raw`\$&`).replaceAll(/(?<![\w`-])(?:--[a-z][\w-]*|\w*_\w+)/g, '`$&`');
}

if (import.meta.main) {
  const text = readFileSync(COMMANDS_PAGE, 'utf8');
  const right = withCommands(text);
  if (text !== right) {
    const write = process.argv.includes('--write');
    if (write) writeFileSync(COMMANDS_PAGE, right);
    else process.exitCode = 1;
    process.stderr.write(`docs/commands.md: ${write ? 'written' : 'differs from the commands in src/cli'}\n`);
  }
}
