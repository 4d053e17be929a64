import type { CommandTree, CompletedArgument, CompletedOption } from './command-tree.ts';

/** Completion for zsh: to be read by it, or as a file `_research-mirror` in its `fpath`. */
export function zshScript({ name, options, commands }: CommandTree): string {
  const described = commands.map((command) => `${command.name}:${command.does.replaceAll(':', '\\:')}`);
  const arms = commands.map((command) => {
    const specs = [...command.options.flatMap(optionSpecs), ...command.arguments.map(argumentSpec)];
    return `        ${command.name})\n          _arguments ${specs.join(' \\\n            ')}\n          ;;`;
  });
  return `#compdef ${name}
# Completion of ${name} for zsh. Made by: ${name} completion zsh

_${name}() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  _arguments -C ${options.flatMap(optionSpecs).join(' \\\n    ')} \\
    '1: :->command' \\
    '*:: :->words'
  case $state in
    command)
      local -a commands
      commands=(
        ${described.map(quoted).join('\n        ')}
      )
      _describe -t commands command commands
      ;;
    words)
      case $line[1] in
${arms.join('\n')}
      esac
      ;;
  esac
}

if [[ $funcstack[1] == _${name} ]]; then
  _${name} "$@"
else
  compdef _${name} ${name}
fi
`;
}

/** `'(-o --output)'-o'[where to]:file:_files'`, and the same for `--output=`, which takes the value behind `=` too. */
function optionSpecs({ flags, does, value }: CompletedOption): readonly string[] {
  const text = `[${escaped(does)}]${value === undefined ? '' : `:${escaped(value.name)}:${expected(value)}`}`;
  const others = flags.length > 1 ? `(${flags.join(' ')})` : '';
  return flags.map((flag) => {
    const equals = value !== undefined && flag.startsWith('--') ? '=' : '';
    return quoted(`${others}${flag}${equals}${text}`);
  });
}

function argumentSpec({ name, words, repeats }: CompletedArgument, index: number): string {
  const place = repeats ? '*' : String(index + 1);
  // What begins like an option is completed as one, though any word may stand here.
  const action = words.length === 0 ? `_guard "^-*" ${name}` : expected({ words });
  return quoted(`${place}:${escaped(name)}:${action}`);
}

function expected({ words, isFile = false }: { words: readonly string[]; isFile?: boolean }): string {
  if (isFile) return '_files';
  // A blank: something is expected, and nothing is offered.
  if (words.length === 0) return ' ';
  // zsh reads the words as patterns.
  return `(${words.map((word) => word.replaceAll('^', '\\^')).join(' ')})`;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\[\]:]/g, '\\$&');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
