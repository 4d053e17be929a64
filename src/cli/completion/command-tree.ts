import type { Argument, Command, Option } from 'commander';
import { argumentWords } from '../terminal/argument-words.ts';

/** What may be typed where an option expects a value: one of some words, a file, or anything. */
export interface CompletedValue {
  /** As the help calls it: `collection`. */
  readonly name: string;
  readonly words: readonly string[];
  readonly isFile: boolean;
}

export interface CompletedOption {
  /** `-o` and `--output`. */
  readonly flags: readonly string[];
  readonly does: string;
  /** Undefined for an option that takes none. */
  readonly value: CompletedValue | undefined;
}

export interface CompletedArgument extends Omit<CompletedValue, 'isFile'> {
  /** The last one may take any number of words. */
  readonly repeats: boolean;
}

export interface CompletedCommand {
  readonly name: string;
  readonly does: string;
  readonly options: readonly CompletedOption[];
  readonly arguments: readonly CompletedArgument[];
}

/** All that can be typed, as shells complete it. */
export interface CommandTree {
  /** Of the program. */
  readonly name: string;
  /** Before any command. */
  readonly options: readonly CompletedOption[];
  readonly commands: readonly CompletedCommand[];
}

/** Read from commander's own tree, so that no command, option or word is listed twice. */
export function commandTree(program: Command): CommandTree {
  const help = program.createHelp();
  const commands = help.visibleCommands(program);
  const names = commands.map((command) => command.name());
  return {
    name: program.name(),
    options: help.visibleOptions(program).map(completedOption),
    commands: commands.map((command) => ({
      name: command.name(),
      does: command.summary() || command.description(),
      options: help.visibleOptions(command).map(completedOption),
      // `help` takes the name of a command; commander itself has made it.
      arguments: command.registeredArguments.map((argument) =>
        command.name() === 'help'
          ? { ...completedArgument(argument), words: names.filter((name) => name !== 'help') }
          : completedArgument(argument),
      ),
    })),
  };
}

function completedOption(option: Option): CompletedOption {
  const placeholder = /[<[]([^>\]]+)/.exec(option.flags)?.[1];
  return {
    flags: [option.short, option.long].filter((flag) => flag !== undefined),
    does: option.description,
    value:
      placeholder === undefined
        ? undefined
        : { name: placeholder, words: plainWords(option), isFile: placeholder === 'file' },
  };
}

function completedArgument(argument: Argument): CompletedArgument {
  return { name: argument.name(), words: plainWords(argument), repeats: argument.variadic };
}

/** Words that mean the same in every shell, quoted or not. */
function plainWords(of: Argument | Option): readonly string[] {
  const words = argumentWords(of);
  const strange = words.find((word) => !/^[\w.+@^-]+$/.test(word));
  if (strange !== undefined) throw new RangeError(`a shell would need quotes for ${strange}`);
  return words;
}
