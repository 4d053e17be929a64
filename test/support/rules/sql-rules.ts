import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { splitStatements } from '../../../src/postgres/run-migrations.ts';
import { ROOT, sourceFiles } from './source-files.ts';

/**
 * Tables without `_user_id` (rule 2): settings, processes, problems, the migrations' own, and what is known of a key
 * before its owner is. On Citus they stay on one node.
 */
export const LOCAL_TABLES = [
  'process',
  'migration',
  'granted',
  'installation',
  'api_key',
  'first_ping',
  'command',
  'problem',
  '_columns',
  'recoveries',
];

interface Rule {
  readonly name: string;
  /** True when the statement breaks it. */
  readonly broken: (sql: SqlText) => boolean;
}

const WRITES =
  /^(?:insert into|update|delete from)\b|\bfor (?:no key )?update\b|^\.(?:insertinto|updatetable|deletefrom)\(/;
const LOCAL = new RegExp(
  `["'.](?:${LOCAL_TABLES.join('|')})["']|^(?:insert into|update) \\$\\{table\\} \\(name, checksum`,
);
const VOLATILE =
  /\b(?:now|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday|random|gen_random_uuid|uuidv7|nextval)\(|\bcurrent_(?:timestamp|date|time)\b|\blocaltime/;

/** The rules of `docs/design/sql.md` that a text can show. */
const RULES: readonly Rule[] = [
  {
    name: '1: what writes or locks rows of an account names its _user_id',
    broken: ({ kind, text }) =>
      kind !== 'migration' && WRITES.test(text) && !text.includes('_user_id') && !LOCAL.test(text),
  },
  {
    name: '3: no MERGE, no CTE that writes: on Citus, CTEs run one after another',
    broken: ({ text }) =>
      /\bmerge into\b/.test(text) ||
      /\bas (?:not )?(?:materialized )?\( ?(?:insert into|update|delete from)\b/.test(text),
  },
  {
    name: '4: in UPDATE and ON CONFLICT SET columns, excluded, parameters and immutable functions only',
    broken: ({ kind, text }) => kind !== 'migration' && VOLATILE.test(assigned(text)),
  },
  {
    name: '6: SKIP LOCKED only within an account',
    broken: ({ text }) => /\bskip locked\b/.test(text) && !text.includes('_user_id'),
  },
  {
    name: '7: functions are PL/pgSQL with a fixed search_path',
    broken: ({ text }) =>
      /^create (?:or replace )?(?:function|procedure)\b/.test(text) &&
      !(/\blanguage plpgsql\b/.test(text) && /\bset search_path (?:=|to)/.test(text)),
  },
  {
    name: '7: no empty select list in a subquery over many accounts: Citus, which plans it apart, refuses it',
    broken: ({ text }) => /\(select from (?:\$|"\{)/.test(text) && !text.includes('_user_id') && !LOCAL.test(text),
  },
  {
    name: '7: no triggers',
    broken: ({ text }) => /^create (?:or replace )?(?:constraint )?trigger\b/.test(text),
  },
  {
    name: '7: NOTIFY is a statement of its own',
    broken: ({ text }) => /\bpg_notify\(/.test(text) && !text.startsWith('select pg_notify('),
  },
  {
    name: 'literals: none is built from a text: bind it, or quotedText where SQL takes no parameter',
    broken: ({ text }) => /\$\{sql\.(?:lit|literal|val)\(/.test(text),
  },
  {
    name: 'locks: no advisory lock: any login can take it, and keep it',
    broken: ({ text }) => /\bpg_(?:try_)?advisory_\w+\(/.test(text),
  },
  {
    name: 'names: a whole row is alias.*: a column of that name, which a mirror may have, would be taken in its place',
    broken: ({ text }) =>
      /\b(?:jsonb?_agg|array_agg|to_jsonb?|row_to_json|hstore)\((?:distinct )?([a-z])\b *[,)]/.test(text),
  },
  {
    name: 'poolers: nothing that belongs to a session',
    broken: ({ text }) =>
      /^(?:set (?!local|transaction|constraints)|listen\b|prepare\b|declare\b.*\bwith hold\b|create temp)/.test(text),
  },
];

/** What stands behind SET: nothing for a statement that assigns nothing to rows that are there. */
function assigned(text: string): string {
  return /(?:^update\b.*? set |\bdo update set |^\.updatetable\(.*?\.set\(|doupdateset\()(.*)/s.exec(text)?.[1] ?? '';
}

/** One line for each rule that a statement breaks. */
export function violations(all: readonly SqlText[]): string[] {
  return RULES.flatMap(({ name, broken }) => all.filter(broken).map(({ place }) => `${place}: ${name}`));
}

/** A statement (or part of one) as it stands in a migration, in a template of the `sql` tag, or as a chain of Kysely's calls. */
interface SqlText {
  /** `src/postgres/lease.ts:47` */
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
