import type { CommandTree, CompletedOption, CompletedValue } from './command-tree.ts';

/** Completion for fish 3 or newer. */
export function fishScript({ name, options, commands }: CommandTree): string {
  const at = `__${name.replaceAll('-', '_')}_at`;
  const line = (condition: string, rest: string): string =>
    `complete -c ${name} -n ${quoted(condition)} ${rest}`;
  const lines = [
    ...options.map((option) => line(`${at} ''`, optionWords(option))),
    ...commands.map((command) => line(`${at} ''`, `-a ${command.name} -d ${quoted(command.does)}`)),
    ...commands.flatMap((command) => [
      ...command.options.map((option) => line(`${at} ${command.name}`, optionWords(option))),
      ...command.arguments
        .map((argument, index) => ({ argument, place: argument.repeats ? '' : ` ${index}` }))
        .filter(({ argument }) => argument.words.length > 0)
        .map(({ argument, place }) =>
          line(`${at} ${command.name}${place}`, `-a ${quoted(argument.words.join(' '))}`),
        ),
    ]),
  ];
  const valued = commands.flatMap((command) =>
    command.options
      .filter(({ value }) => value !== undefined)
      .flatMap(({ flags }) => flags.map((flag) => quoted(`${command.name} ${flag}`))),
  );
  return `# Completion of ${name} for fish. Made by: ${name} completion fish

# Whether the words so far are those of the command $argv[1] ('': none yet), with $argv[2] arguments (left out: any).
function ${at}
    set -l valued ${valued.join(' ')}
    set -l words (commandline -opc)
    set -l command ''
    set -l place 0
    set -l skip no
    for word in $words[2..-1]
        if test $skip = yes
            set skip no
        else if string match -q -- '-*' $word
            contains -- "$command $word" $valued; and set skip yes
        else if test -z "$command"
            set command $word
        else
            set place (math $place + 1)
        end
    end
    test "$command" = "$argv[1]"; and begin
        test (count $argv) -lt 2; or test "$place" = "$argv[2]"
    end
end

complete -c ${name} -f
${lines.join('\n')}
`;
}

function optionWords({ flags, does, value }: CompletedOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  return [...names, ...(value === undefined ? [] : valueWords(value)), '-d', quoted(does)].join(' ');
}

/** What follows is one of some words (`-x`), or a file, which `-f` leaves out elsewhere. */
function valueWords({ words, isFile }: CompletedValue): readonly string[] {
  if (isFile) return ['-r', '-F'];
  return words.length === 0 ? ['-x'] : ['-x', '-a', quoted(words.join(' '))];
}

function quoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, '\\$&')}'`;
}
