import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { splitStatements } from '../../../src/db/migrations/run-migrations.ts';
import { ROOT, sourceFiles } from './source-files.ts';

/** A statement (or part of one) as it stands in a migration, in a template of the `sql` tag, or as a chain of Kysely's calls. */
export interface SqlText {
  /** `src/db/ownership/lease.ts:47` */
  readonly place: string;
  readonly kind: 'migration' | 'template' | 'chain';
  /** In lower case, without comments; of a template with its interpolations as they are written. */
  readonly text: string;
}

/** All SQL of migrations and sources. */
export function allSql(): SqlText[] {
  return [
    ...migrations(),
    ...sourceFiles('src')
      .filter(({ path }) => !path.endsWith('.test.ts'))
      .flatMap(sqlIn),
  ];
}

function migrations(): SqlText[] {
  return readdirSync(join(ROOT, 'migrations'))
    .filter((name) => /^\d{4}_.*\.sql$/.test(name))
    .flatMap((name) => {
      const text = readFileSync(join(ROOT, 'migrations', name), 'utf8');
      return splitStatements(text).map(({ at, statement }) => ({
        place: `migrations/${name}:${lineOf(text, at)}`,
        kind: 'migration' as const,
        text: normal(statement),
      }));
    });
}

/** The templates and chains of one TypeScript file. */
export function sqlIn({ path, text }: { readonly path: string; readonly text: string }): SqlText[] {
  const found: SqlText[] = [];
  for (const match of text.matchAll(/\bsql(?:<(?:[^<>`]|<[^<>`]*>)*>)?`/g)) {
    const at = match.index + match[0].length;
    found.push({
      place: `${path}:${lineOf(text, match.index)}`,
      kind: 'template',
      text: normal(text.slice(at, endOfTemplate(text, at))),
    });
  }
  for (const match of text.matchAll(/\.(?:insertInto|updateTable|deleteFrom)\('[\s\S]*?\.execute/g)) {
    found.push({
      place: `${path}:${lineOf(text, match.index)}`,
      kind: 'chain',
      text: match[0].toLowerCase(),
    });
  }
  return found;
}

/** Index of the backtick that ends the template whose content begins at `from`; templates nest in interpolations. */
function endOfTemplate(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '`') return at;
    else if (text.startsWith('${', at)) at = endOfInterpolation(text, at + 2);
  }
  return text.length;
}

function endOfInterpolation(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '`') at = endOfTemplate(text, at + 1);
    else if (text[at] === '{') depth += 1;
    else if (text[at] === '}' && (depth -= 1) === 0) return at;
  }
  return text.length;
}

function normal(text: string): string {
  return text
    .replaceAll(/--[^\n]*/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .toLowerCase();
}

function lineOf(text: string, at: number): number {
  return text.slice(0, at).split('\n').length;
}
