import type { SourceFile } from './source-files.ts';

/** A word that had several meanings, or that only its authors understood. */
interface Retired {
  /** Of a part of an identifier (`brakeHolds` has `brake` and `holds`), lower case. */
  readonly part?: RegExp;
  /** Of a comment. */
  readonly prose?: RegExp;
  /** What says it. */
  readonly instead: string;
}

/** The field's words took their place: ARCHITECTURE.md, "Glossary". */
export const RETIRED: readonly Retired[] = [
  {
    part: /^(held|holds?|holding)$/,
    prose:
      /\b(is|are|was|be) held by (a|the|another|this) (process|owner|daemon)\b|\bbrake holds\b|\bholds? (a|the) slots?\b/i,
    instead:
      'owned (an account), blocked (by the brake), used (a slot), buffered, mirrored; "on hold" is for submissions',
  },
  {
    part: /^(settle[sdr]?|settling|unsettled)$/,
    prose: /\bsettle time\b|\b(un)?settled rows?\b|\bsettl(es|ing)\b/i,
    instead: 'grace period, finished, confirmed',
  },
  {
    part: /^(doubt(s|ed|ful)?|candidates?)$/,
    prose: /\bdoubt(s|ed)?\b|\bcandidates?\b/i,
    instead: 'suspected deletion, suspect',
  },
  { part: /^tolls?$/, prose: /\btoll\b/i, instead: 'deletion volume' },
  { part: /^(firings?|promise[sd])$/, prose: /\bfirings?\b|\bpromise[sd]\b/i, instead: 'next run, misfire' },
  { part: /^(edges?)$/, prose: /\bedges\b/i, instead: 'webhooks and submissions' },
  { part: /^(ripe|ripen(s|ing)?|owed|owing)$/, prose: /\bripe\b|\bowed\b/i, instead: 'due' },
  {
    part: /^(couriers?|errands?|rotas?|pulses?|births?|scorings?|knocks?)$/,
    instead: 'delivery queue, queued delivery, permutation, steady rate, creations, score changes, connect',
  },
  { part: /^(desks?|permits?)$/, prose: /\bdesk\b/i, instead: 'dispatcher, rate gate' },
  {
    prose:
      /\btold of\b|\btells? of\b|\bgoes without\b|\bstands twice\b|\bfor want of\b|\bof which nothing\b|\bhangs on\b|\bhung on\b/i,
    instead: 'says, reports, names; has no; occurs twice; because there is no; depends on',
  },
];

/** A word as it stands in a file. */
export interface Found {
  readonly place: string;
  readonly word: string;
  readonly instead: string;
}

/** Retired words in code and comments; strings are public, and SQL has names of its own. */
export function retiredWords(
  { path, text }: Pick<SourceFile, 'path' | 'text'>,
  isExempt: (identifier: string) => boolean,
): Found[] {
  return tokens(text).flatMap(({ kind, text: token, line }) => {
    const place = `${path}:${line}`;
    if (kind === 'comment') {
      return retiredIn(token, place);
    }
    if (isExempt(token)) return [];
    const parts = partsOf(token);
    return RETIRED.filter(({ part }) => part !== undefined && parts.some((each) => part.test(each))).map(
      ({ instead }) => ({ place, word: token, instead }),
    );
  });
}

/** Retired words in the prose of a Markdown document; what stands between backticks is a name. */
export function retiredProse({ path, text }: Pick<SourceFile, 'path' | 'text'>): Found[] {
  return text
    .split('\n')
    .flatMap((line, index) => retiredIn(line.replaceAll(/`[^`]*`/g, ''), `${path}:${index + 1}`));
}

function retiredIn(text: string, place: string): Found[] {
  return RETIRED.flatMap(({ prose, instead }) => {
    const word = prose?.exec(text)?.[0];
    return word === undefined ? [] : [{ place, word, instead }];
  });
}

/** `brakeHolds` → `brake`, `holds`; `HELD_MS` → `held`, `ms`. */
function partsOf(identifier: string): string[] {
  return identifier
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split('_');
}

interface Token {
  readonly kind: 'identifier' | 'comment';
  readonly text: string;
  readonly line: number;
}

/** Identifiers and comments of a TypeScript file; what strings and templates say is left out, what templates insert is not. */
export function tokens(text: string): Token[] {
  const found: Token[] = [];
  const token =
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`|[{}]|(?<=[=(,:;!&|?[\n]\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/\w*|[A-Za-z_$][\w$]*/g;
  /** For each template that is open, how many braces of code inside it are. */
  const templates: number[] = [];
  let line = 1;
  let counted = 0;
  for (;;) {
    const match = token.exec(text);
    if (match === null) return found;
    line += newlines(text, counted, match.index);
    counted = match.index;
    const [word] = match;
    const depth = templates.at(-1);
    if (word === '`' || (word === '}' && depth === 0)) {
      if (word === '}') templates.pop();
      token.lastIndex = endOfTemplateText(text, token.lastIndex, templates);
    } else if (word === '{' || word === '}') {
      if (depth !== undefined) templates[templates.length - 1] = depth + (word === '{' ? 1 : -1);
    } else if (/^\/[*/]/.test(word)) found.push({ kind: 'comment', text: word, line });
    else if (/^[A-Za-z_$]/.test(word)) found.push({ kind: 'identifier', text: word, line });
  }
}

/** From inside a template's text: behind its backtick, or behind the next `${`, which opens code. */
function endOfTemplateText(text: string, from: number, templates: number[]): number {
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '`') return at + 1;
    else if (text.startsWith('${', at)) {
      templates.push(0);
      return at + 2;
    }
  }
  return text.length;
}

function newlines(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

/** Names that several files export, with their files. */
export function exportedTwice(files: readonly Pick<SourceFile, 'path' | 'text'>[]): Map<string, string[]> {
  const homes = new Map<string, string[]>();
  for (const { path, text } of files) {
    const names = [
      ...text.matchAll(/^export (?:async )?(?:abstract )?(?:function\*?|class|interface|type|const) (\w+)/gm),
    ];
    for (const name of new Set(names.map((match) => match[1] ?? ''))) {
      homes.set(name, [...(homes.get(name) ?? []), path]);
    }
  }
  return new Map([...homes].filter(([, paths]) => paths.length > 1));
}
