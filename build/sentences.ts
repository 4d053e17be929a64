import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, type Node } from 'oxc-parser';

// `npm run -s sentences`: lists what the program can print, each text with its place, for somebody to read aloud.

const ROOT = join(import.meta.dirname, '..');
const FOLDERS = ['src', 'packages', 'bin'];
/** At least two words in a row, as a person reads them. */
const PROSE = /[A-Za-z’']{2,}[,;:]? [a-z(“"'$]/;

export interface Sentence {
  /** `src/status/problems.ts:56` */
  readonly place: string;
  /** As it is printed, with its values as they are written in the source. */
  readonly text: string;
}

/** Every text of the program that reads as prose; no SQL. */
export function sentences(): Sentence[] {
  const paths = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  );
  return paths
    .filter((path) => /\.(?:ts|js)$/.test(path) && !/\.test\.ts$|\/testing\/|node_modules/.test(path))
    .toSorted()
    .flatMap((path) => sentencesIn(path, readFileSync(join(ROOT, path), 'utf8')));
}

export function sentencesIn(path: string, source: string): Sentence[] {
  const found: Sentence[] = [];
  const written = (node: Node): string => source.slice(node.start, node.end);
  /** The text that a literal, a template or a sum of them makes; undefined for anything else. */
  const textOf = (node: Node): string | undefined => {
    if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined;
    if (node.type === 'TemplateLiteral')
      return node.quasis
        .map(({ value }, index) => {
          const expression = node.expressions[index];
          return value.cooked + (expression === undefined ? '' : `\${${written(expression)}}`);
        })
        .join('');
    if (node.type !== 'BinaryExpression' || node.operator !== '+') return undefined;
    const [left, right] = [textOf(node.left), textOf(node.right)];
    return left === undefined || right === undefined ? undefined : left + right;
  };
  const visit = (node: Node): void => {
    if (node.type === 'ImportDeclaration') return;
    if (node.type === 'TaggedTemplateExpression' && /\bsql\b/.test(written(node.tag))) return;
    const text = textOf(node);
    if (text !== undefined && PROSE.test(text)) {
      found.push({ place: `${path}:${source.slice(0, node.start).split('\n').length}`, text });
    }
    // What stands in a template may have sentences of its own; the parts of a sum are its own.
    const within = node.type === 'TemplateLiteral' ? node.expressions : text === undefined ? childrenOf(node) : [];
    within.forEach(visit);
  };
  visit(parseSync(path, source).program);
  return found;
}

function childrenOf(node: Node): Node[] {
  return Object.values(node)
    .flat()
    .filter((value): value is Node => typeof (value as Partial<Node> | null)?.type === 'string');
}

if (import.meta.main) {
  for (const { place, text } of sentences())
    process.stdout.write(`${place}\t${text.replaceAll('\n', String.raw`\n`)}\n`);
}
