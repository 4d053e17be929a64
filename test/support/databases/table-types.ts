/** File of src/postgres. */
export const TYPE_FILE = 'tables.ts';

/** The interface of each schema, and the field of `Db` by which queries are built on it. */
const SCHEMAS = [
  { schema: 'mirror', field: 'mirror', name: 'MirrorTables', of: 'what analysts query' },
  { schema: 'mirror_sync', field: 'state', name: 'StateTables', of: "the daemon's own state" },
] as const;

const TYPES: Readonly<Record<string, string>> = {
  bigint: 'Bigint',
  numeric: 'Bigint',
  jsonb: 'Json',
  text: 'string',
  uuid: 'string',
  boolean: 'boolean',
  bytea: 'Buffer',
  integer: 'number',
  smallint: 'number',
  'double precision': 'number',
  'timestamp with time zone': 'Date',
};

/** What the file begins with: how columns are read, inserted and updated. */
const HEAD = `// Generated from migrations/schema.sql by: node test/support/databases/dump-schema.ts. Not to be edited.

import type { ColumnType } from 'kysely';

/** A column that may be null. */
type OrNull<T> = [T] extends [ColumnType<infer Read, infer Inserted, infer Updated>]
  ? ColumnType<Read | null, Inserted | null | undefined, Updated | null>
  : ColumnType<T | null, T | null | undefined, T | null>;

/** A column with a default. Kysely's own type drops what a ColumnType says of inserts and updates. */
type Generated<T> = [T] extends [ColumnType<infer Read, infer Inserted, infer Updated>]
  ? ColumnType<Read, Inserted | undefined, Updated>
  : ColumnType<T, T | undefined, T>;

/** bigint: decimal digits; numbers may be written. */
type Bigint = ColumnType<string, string | number | bigint, string | number | bigint>;

/** jsonb: parsed when read (\`::text\` keeps digits beyond double precision), text when written. */
type Json = ColumnType<unknown, string, string>;
`;

/**
 * The tables on which `sources` build queries, as Kysely's types; other statements are SQL, whose types stand beside them.
 * @param dump schema.sql
 */
export function tableTypes(dump: string, sources: readonly string[]): string {
  const text = SCHEMAS.flatMap(({ schema, field, name, of }) => {
    const built = new RegExp(`\\.${field}\\s*\\.(?:\\w+From|\\w+Into|\\w+Table)\\('(\\w+)'`, 'g');
    const used = new Set(sources.flatMap((source) => [...source.matchAll(built)].map(([, table]) => table)));
    const tables = dump.matchAll(new RegExp(`^create table ${schema}\\.(\\w+) \\(\\n([\\s\\S]*?)\\n\\)`, 'gm'));
    return [
      `/** \`<schema>${schema.replace('mirror', '')}\`: ${of}. */`,
      `export interface ${name} {`,
      ...[...tables].flatMap(([, table = '', lines = '']) =>
        used.has(table) ? [`  ${table}: {`, ...lines.split('\n').flatMap(columnType), '  };'] : [],
      ),
      '}',
      '',
    ];
  }).join('\n');
  return `${HEAD}\n${text}`;
}

/** `  live_rows bigint default 0 not null,`; nothing of a constraint. */
function columnType(line: string): string[] {
  const column = /^ {2}(\w+) (.*?)(\[\])?(?: collate \S+)?( default .*?)?( not null)?,?$/.exec(line);
  const [, name = '', type = '', array = '', byDefault, required] = column ?? [];
  if (name === '' || name === 'constraint') return [];
  // The driver parses no element of an array of them.
  const one = array !== '' && ['Bigint', 'Json'].includes(TYPES[type] ?? '') ? 'string' : TYPES[type];
  if (one === undefined) throw new Error(`no type for the column ${line}`);
  const value = `${one}${array}`;
  const wrapped = required === undefined ? `OrNull<${value}>` : byDefault === undefined ? value : `Generated<${value}>`;
  return [`    ${name}: ${wrapped};`];
}
