import type { CommandTree, CompletedCommand, CompletedOption, CompletedValue } from './command-tree.ts';

/** Marks a place where a file is expected. */
const FILE = '@file';

/** Completion for bash 3.2 or newer, which is what macOS has. */
export function bashScript({ name, options, commands }: CommandTree): string {
  const fn = `_${name.replaceAll('-', '_')}`;
  const all: readonly Pick<CompletedCommand, 'name' | 'options'>[] = [{ name: '', options }, ...commands];
  const flags = all.map((each) => arm([each.name], each.options.flatMap((option) => option.flags).join(' ')));
  const values = all.flatMap((each) => each.options.flatMap((option) => valueArms(each.name, option)));
  const places = commands.flatMap((command) =>
    command.arguments.map((argument, index) =>
      arm([`${command.name} ${argument.repeats ? '*' : String(index)}`], argument.words.join(' ')),
    ),
  );
  return `# Completion of ${name} for bash. Made by: ${name} completion bash

# Options of the command $1.
${fn}_flags() {
  case $1 in
${flags.join('\n')}
  esac
}

# What the option $2 of the command $1 expects behind it; fails where that is nothing.
${fn}_value() {
  case "$1 $2" in
${values.join('\n')}
    *) return 1 ;;
  esac
}

# What the command $1 expects in the place $2, from 0.
${fn}_place() {
  case "$1 $2" in
${places.join('\n')}
  esac
}

${fn}() {
  local IFS=$' \\t\\n' cur=\${COMP_WORDS[COMP_CWORD]} command= option= place=0 i word words
  COMPREPLY=()
  # bash cuts --option=value in three.
  [[ $cur == '=' ]] && cur=
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ -n $option ]]; then
      [[ $word == '=' ]] || option=
    elif [[ $word == -* ]]; then
      ${fn}_value "$command" "$word" >/dev/null && option=$word
    elif [[ -z $command ]]; then
      command=$word
    else
      place=$((place + 1))
    fi
  done
  if [[ -n $option ]]; then
    words=$(${fn}_value "$command" "$option")
  elif [[ $cur == -* ]]; then
    words=$(${fn}_flags "$command")
  elif [[ -z $command ]]; then
    words='${commands.map((command) => command.name).join(' ')}'
  else
    words=$(${fn}_place "$command" "$place")
  fi
  if [[ $words == ${FILE} ]]; then
    # Where bash is old enough not to know it, names with spaces want quotes.
    type compopt >/dev/null 2>&1 && compopt -o filenames 2>/dev/null
    IFS=$'\\n'
    COMPREPLY=($(compgen -f -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}

complete -F ${fn} ${name}
`;
}

/** An arm of a `case`: its last pattern may end with `*`, which matches any place. */
function arm(patterns: readonly string[], words: string): string {
  const quoted = patterns.map((pattern) =>
    pattern.endsWith('*') ? `'${pattern.slice(0, -1)}'*` : `'${pattern}'`,
  );
  return `    ${quoted.join(' | ')}) printf '%s' '${words}' ;;`;
}

function valueArms(command: string, { flags, value }: CompletedOption): readonly string[] {
  if (value === undefined) return [];
  return [
    arm(
      flags.map((flag) => `${command} ${flag}`),
      expected(value),
    ),
  ];
}

function expected({ words, isFile }: CompletedValue): string {
  return isFile ? FILE : words.join(' ');
}
