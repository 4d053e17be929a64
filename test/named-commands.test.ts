import { REMOVED_COMMANDS } from '../src/cli/run.ts';
import { expect, it } from 'vitest';
import { type Command, commandPages, definedCommands, generatedCommandPages } from '../build/commands-page.ts';
import { sourceFiles, textFiles } from './support/rules/source-files.ts';

const FOLDERS = ['docs', 'monitoring', 'kubernetes', 'docker', 'dbt', 'bench', 'bi', 'packages'];
/** The parts of documents that name commands of earlier versions: the column “was”, the group “Removed”. */
const HISTORY: Readonly<Record<string, RegExp>> = {
  'CHANGELOG.md': /^### Removed\n[^]*?(?=^#)/gm,
  'docs/upgrading.md': /^\| [^|]*\|/gm,
};

const program = definedCommands();

/** Documents, manifests, and the program's sources with its sentences. */
function texts(): Text[] {
  const all = textFiles(FOLDERS, /\.(?:md|ya?ml|json|sql|sh|ts)$/, /\.md$|^docker-compose.*\.yml$|^Dockerfile$/);
  const documents = [...all].map(([path, text]) => {
    const past = HISTORY[path];
    return { path, text: past === undefined ? text : text.replaceAll(past, '') };
  });
  return [...documents, ...sourceFiles('src').filter(({ path }) => !path.endsWith('.test.ts'))];
}

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
function wrongCommands(texts: readonly Text[], program: Command): string[] {
  return texts.flatMap(({ path, text }) => {
    const isSource = path.endsWith('.ts');
    // A sentence of the program goes on in the next literal.
    const whole = isSource ? text.replaceAll(/['`]\s*\+\s*\n\s*['`]/g, '') : text;
    const named = [...whole.matchAll(INVOCATION)].map(([, rest = '']) => ({ rest, isNamed: true }));
    const short = [...whole.matchAll(SHORT[isSource ? 'ts' : 'md'])];
    return [...named, ...short.map(([, rest = '']) => ({ rest, isNamed: false }))].flatMap(({ rest, isNamed }) => {
      const wrong = judge(wordsOf(rest), program, isNamed);
      return wrong === undefined ? [] : [`${path}: ${wrong}: ${rest.slice(0, 60)}`];
    });
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

it('docs/commands has each command as it is; if not: npm run -s commands-page -- --write', () => {
  const pages = commandPages();
  expect(Object.fromEntries(generatedCommandPages(pages.get('commands.md') ?? ''))).toEqual(Object.fromEntries(pages));
});

it('commands that documents, manifests, alerts and the program itself name are there, with their options', () => {
  const all = texts();
  expect(all.length).toBeGreaterThan(300);
  expect(wrongCommands(all, program)).toEqual([]);
});

const wrong = (text: string, path = 'a.md'): string[] => wrongCommands([{ path, text }], program);

it.each([
  ['npx research-mirror synk', 'no such command'],
  ['`research-mirror frobnicate --all` does it', 'no such command'],
  ['npm run -s mirror -- synk lists', 'no such command'],
  ['docker compose run --rm mirror synk', 'no such command'],
  ['kubectl exec deploy/research-mirror -- research-mirror stat', 'no such command'],
  ['a line\nresearch-mirror sync --ful lists', 'sync has no option --ful'],
  ['`research-mirror sync` and `research-mirror synk`', 'no such command'],
  ['research-mirror sql "select 1" --cvs > a.csv', 'sql has no option --cvs'],
  ['research-mirror submissions realease # after a restore', "submissions can't realease"],
  ['see `accounts remove 42`', "accounts can't remove"],
  ['then `sync --fully`', 'sync has no option --fully'],
  ['as `restore FILE` does', 'removed'],
])('a command that is named and does not exist is found: %j', (text, problem) => {
  expect(wrong(text)).toEqual([expect.stringMatching(new RegExp(`^a\\.md: ${problem}: `))]);
});

it('a command that is named and does not exist is found in a sentence of the program, also where it goes on in the next literal', () => {
  expect(wrong(`const a = 'run "research-mirror ' +\n  'synk" first';`, 'src/a.ts')).toHaveLength(1);
  expect(wrong(`const a = '"events repeat ID" does it';`, 'src/a.ts')).toHaveLength(1);
});

it.each([
  'npx research-mirror sync lists --full --accept-deletions',
  'research-mirror sql "select --x" --csv | gzip --best > a.gz',
  '`research-mirror status`, `sync --full` and --not-of-it',
  'research-mirror runs as user 1000; `research-mirror <command>`; research-mirror 0.2.0',
  'research-mirror submit research --data \'{"a": "--b"}\' --no-wait',
  'research-mirror quarantine list --show 3f78 && true --that',
])('a command that is there, or a text that is none, is left alone: %j', (text) => {
  expect(wrong(text)).toEqual([]);
});
