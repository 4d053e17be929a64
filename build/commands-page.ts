import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@research-mirror/runtime/clock';
import { Scrubber } from '@research-mirror/runtime/scrub';
import { commandLine } from '../src/cli/run.ts';
import { EXIT_MEANINGS } from '../src/terminal/shell.ts';

// `npm run -s commands-page`: compares docs/commands.md, the index, and docs/commands, a page for each command, with the
// command line's definitions, and ends with 1 where they differ. With `-- --write` it makes them equal.

/** Commander's command. */
export type Command = ReturnType<typeof commandLine>;

const DOCS = join(import.meta.dirname, '..', 'docs');
const INDEX = 'commands.md';

/** The pages as they are, by their paths in docs. */
export function commandPages(): ReadonlyMap<string, string> {
  const names = readdirSync(join(DOCS, 'commands')).toSorted();
  const paths = [INDEX, ...names.map((name) => `commands/${name}`)];
  return new Map(paths.map((path) => [path, readFileSync(join(DOCS, path), 'utf8')]));
}

/** The pages as they should be. @param index the index as it is @throws Error where a marker is missing in it */
export function generatedCommandPages(index: string): ReadonlyMap<string, string> {
  const marked = /(^<!-- commands: .*\n)[\s\S]*?(^<!-- end of commands\b)/m;
  if (!marked.test(index)) throw new Error('the markers "commands: …" and "end of commands" are missing');
  let printed = '';
  const program = definedCommands((text) => (printed += text));
  const help = program.createHelp();
  const commands = help.visibleCommands(program).filter((command) => command.name() !== 'help');
  const listed = index.replace(marked, (_, begin: string, end: string) => `${begin}\n${tables(commands)}\n\n${end}`);
  const pages = commands.map((command) => {
    printed = '';
    command.outputHelp();
    return [
      `commands/${command.name()}.md`,
      page(command, help, printed.slice(command.helpInformation().length)),
    ] as const;
  });
  return new Map([[INDEX, listed], ...pages]);
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

function tables(commands: readonly Command[]): string {
  const codes = Object.entries(EXIT_MEANINGS).map(([code, means]) => `| ${code} | ${means} |`);
  const lines = commands.map((command) => {
    const name = command.name();
    return `| [\`${name}\`](commands/${name}.md) | ${plain(command.summary())} |`;
  });
  return [
    ['| exit code | means |', '|---|---|', ...codes].join('\n'),
    ['| command | does |', '|---|---|', ...lines].join('\n'),
  ].join('\n\n');
}

/** @param after what the command's help shows behind its options: examples */
function page(command: Command, help: ReturnType<Command['createHelp']>, after: string): string {
  const rows = [
    ...help.visibleArguments(command).map((each) => [each.name(), help.argumentDescription(each)] as const),
    ...help
      .visibleOptions(command)
      .filter(({ long }) => long !== '--help')
      .map((each) => [each.flags, help.optionDescription(each)] as const),
  ].map(([typed, does]) => `| \`${typed.replaceAll('|', '\\|')}\` | ${plain(does)} |`);
  const examples = [...after.matchAll(/^ {2}\$ (.*)$/gm)].map(([, line = '']) => line);
  const blocks = [
    `# ${command.name()}`,
    plain(command.description()),
    `\`${help.commandUsage(command)}\``,
    ...(rows.length === 0 ? [] : [['| | |', '|---|---|', ...rows].join('\n')]),
    ['```sh', ...examples, '```'].join('\n'),
    '<!-- generated, `npm run -s commands-page -- --write` -->',
  ];
  return `${blocks.join('\n\n')}\n`;
}

/** Plain text as Markdown, in a cell, too: options and names of variables and columns are code. */
function plain(text: string): string {
  return text.replaceAll(/[\\<|*]/g, String.raw`\$&`).replaceAll(/(?<![\w`-])(?:--[a-z][\w-]*|\w*_\w+)/g, '`$&`');
}

if (import.meta.main) {
  const there = commandPages();
  const right = generatedCommandPages(there.get(INDEX) ?? '');
  const write = process.argv.includes('--write');
  for (const path of new Set([...there.keys(), ...right.keys()])) {
    const text = right.get(path);
    if (text === there.get(path)) continue;
    if (!write) process.exitCode = 1;
    else if (text === undefined) rmSync(join(DOCS, path));
    else writeFileSync(join(DOCS, path), text);
    process.stderr.write(`docs/${path}: ${write ? 'written' : 'differs from the commands in src/cli'}\n`);
  }
}
