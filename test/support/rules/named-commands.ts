import type { Command } from '../../../build/commands-page.ts';
import { REMOVED_COMMANDS } from '../../../src/cli/removed-commands.ts';

/** Words that follow the program's name where it is spoken of, and no command is meant. */
const PROSE = new Set(['as', 'before', 'daemon', 'keeps', 'needs', 'on', 'runs']);

/** An invocation: the program (no folder of that name), or what stands for it, and the rest of the line. */
const INVOCATION =
  /(?:(?<![\w/-])research-mirror|\bresearch-mirror\.js|\bnpm run (?:-s )?mirror --|\bdocker compose run\b[^\n]*? mirror) +(?=([^\n]*))/g;
/** A command by its name alone, with what is behind it: `sync --full`, "accounts list". */
const SHORT = { md: /[`"](?=([a-z]+(?: +[^`"\n]+)?)[`"])/g, ts: /"(?=([a-z]+(?: +[^"\n]+)?)")/g };

interface Text {
  /** From the root of the checkout. */
  readonly path: string;
  readonly text: string;
}

/**
 * What texts name as a command of the program, and what is none: a name, an action of a command that has some, a long
 * option. @returns lines `path: what is wrong: where`
 */
export function wrongCommands(texts: readonly Text[], program: Command): string[] {
  return texts.flatMap(({ path, text }) => {
    const isSource = path.endsWith('.ts');
    // A sentence of the program goes on in the next literal.
    const whole = isSource ? text.replaceAll(/['`]\s*\+\s*\n\s*['`]/g, '') : text;
    const named = [...whole.matchAll(INVOCATION)].map(([, rest = '']) => ({ rest, isNamed: true }));
    const short = [...whole.matchAll(SHORT[isSource ? 'ts' : 'md'])];
    return [...named, ...short.map(([, rest = '']) => ({ rest, isNamed: false }))].flatMap(
      ({ rest, isNamed }) => {
        const wrong = judge(wordsOf(rest), program, isNamed);
        return wrong === undefined ? [] : [`${path}: ${wrong}: ${rest.slice(0, 60)}`];
      },
    );
  });
}

/** @param isNamed whether the program's name stands before it: then the first word has to be a command */
function judge(words: readonly string[], program: Command, isNamed: boolean): string | undefined {
  const [name = '', ...rest] = words;
  const command = program.commands.find((each) => each.name() === name);
  if (command === undefined) {
    if (Object.hasOwn(REMOVED_COMMANDS, name)) return 'removed';
    // What begins with an option, a placeholder or a sign is none.
    return isNamed && /^[a-z][a-z-]*$/.test(name) && !PROSE.has(name) ? 'no such command' : undefined;
  }
  const options = new Set([...command.options, ...program.options].map(({ long }) => long));
  const unknown = rest
    .map((word) => /^--[a-z][\w-]*/.exec(word)?.[0])
    .find((option) => option !== undefined && option !== '--help' && !options.has(option));
  if (unknown !== undefined) return `${name} has no option ${unknown}`;
  const [first] = command.registeredArguments;
  const action = rest[0] ?? '';
  if (first?.name() !== 'action' || !/^[a-z]+$/.test(action)) return undefined;
  const actions = first.description.split(/, | or /);
  return actions.includes(action) ? undefined : `${name} can't ${action}`;
}

/** The words of a shell's line, up to what ends the command or the text around it. */
function wordsOf(line: string): string[] {
  const words: string[] = [];
  for (const [, quoted, word = ''] of line.matchAll(/((?<=\s)(?:"[^"]*"|'[^']*'))|(\S+)/g)) {
    if (quoted !== undefined) {
      words.push(quoted);
      continue;
    }
    const [, kept = '', end = ''] = /^([^`"'|>&;#,).:]*(?:\.(?=\w)[^`"'|>&;#,).:]*)*)(.?)/.exec(word) ?? [];
    if (kept !== '') words.push(kept);
    if (end !== '') break;
  }
  return words;
}
