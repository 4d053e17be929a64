import type { SqlText } from './sql-statements.ts';

/**
 * Tables without `_user_id` (rule 2): settings, processes, the migrations' own, and what is known of a key before its
 * owner is. On Citus they stay on one node.
 */
export const LOCAL_TABLES = [
  'process',
  'migration',
  'granted',
  'installation',
  'api_key',
  'first_ping',
  'command',
  '_columns',
  'recoveries',
  'wanted_index',
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
export const RULES: readonly Rule[] = [
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
    broken: ({ text }) =>
      /\(select from (?:\$|"\{)/.test(text) && !text.includes('_user_id') && !LOCAL.test(text),
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
      /^(?:set (?!local|transaction|constraints)|listen\b|prepare\b|declare\b.*\bwith hold\b|create temp)/.test(
        text,
      ),
  },
];

/** What stands behind SET: nothing for a statement that assigns nothing to rows that are there. */
function assigned(text: string): string {
  return (
    /(?:^update\b.*? set |\bdo update set |^\.updatetable\(.*?\.set\(|doupdateset\()(.*)/s.exec(text)?.[1] ??
    ''
  );
}

/** One line for each rule that a statement breaks. */
export function violations(all: readonly SqlText[]): string[] {
  return RULES.flatMap(({ name, broken }) => all.filter(broken).map(({ place }) => `${place}: ${name}`));
}
