/** File of src/postgres. */
export const TYPE_FILE = 'tables.ts';

/** The interface of each schema, and the field of `Db` by which queries are built on it. */
const SCHEMAS = [
  { schema: 'mirror', field: 'mirror', name: 'MirrorTables', of: 'what analysts query' },
  { schema: 'mirror_sync', field: 'state', name: 'StateTables', of: "the daemon's own state" },
] as const;

/** `Bigint` and `Json` are of src/postgres/column-types.ts. */
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

/**
 * The tables on which `sources` build queries, as Kysely's types; other statements are SQL, whose types stand beside them.
 * @param dump schema.sql
 */
export function tableTypes(dump: string, sources: readonly string[]): string {
  const text = SCHEMAS.flatMap(({ schema, field, name, of }) => {
    const built = new RegExp(`\\.${field}\\s*\\.(?:\\w+From|\\w+Into|\\w+Table)\\('(\\w+)'`, 'g');
    const used = new Set(sources.flatMap((source) => [...source.matchAll(built)].map(([, table]) => table)));
    const tables = dump.matchAll(
      new RegExp(`^create table ${schema}\\.(\\w+) \\(\\n([\\s\\S]*?)\\n\\)`, 'gm'),
    );
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
  return [
    '// Generated of migrations/schema.sql by: node test/support/databases/dump-schema.ts. Not to be edited.',
    '',
    "import type { Bigint, Generated, Json, OrNull } from './column-types.ts';",
    '',
    text,
  ].join('\n');
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
  const wrapped =
    required === undefined ? `OrNull<${value}>` : byDefault === undefined ? value : `Generated<${value}>`;
  return [`    ${name}: ${wrapped};`];
}
