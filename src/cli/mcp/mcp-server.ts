import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { quotedText } from '../../db/connection/quoted.ts';
import { COLLECTION_NAMES } from '../../model/collections.ts';

/** Rows of one answer. */
const USUAL_ROWS = 100;
const MOST_ROWS = 1_000;

/** Asks the mirror, as a login that can only read, and gives the answer as JSON text. @throws what is told the model */
export type AskAsReader = (text: string, limit: number) => Promise<string>;

const READS = { readOnlyHint: true, openWorldHint: false } as const;

const limit = z
  .number()
  .int()
  .min(1)
  .max(MOST_ROWS)
  .default(USUAL_ROWS)
  .describe(`most rows of the answer; "more" says that there are others`);
/** Also a bigint that no JavaScript number holds. */
const bigint = z.string().regex(/^\d{1,19}$/);

/**
 * What a language model may do with the mirror: see what there is, read it, and learn what changed. Values come in
 * Postgres's own text form, with every digit.
 * @param schema MIRROR_SCHEMA
 */
export function mirrorServer(version: string, schema: string, ask: AskAsReader): McpServer {
  const server = new McpServer(
    { name: 'research-mirror', version },
    {
      instructions:
        'A mirror in Postgres of one or more accounts of a Research & Enrichment Service. Begin with "tables". Rows ' +
        'of several accounts share the tables (_user_id). <table>_live has no deleted rows; times are UTC.',
    },
  );
  const answer = async (text: string, rows: number) => {
    try {
      return { content: [{ type: 'text' as const, text: await ask(text, rows) }] };
    } catch (error) {
      return { isError: true, content: [{ type: 'text' as const, text: (error as Error).message }] };
    }
  };

  server.registerTool(
    'tables',
    {
      title: 'Tables and columns',
      description:
        'Tables and views of the mirror with what they mean; of one, its columns with type and meaning.',
      inputSchema: z.object({
        table: z
          .string()
          .regex(/^[a-z_][a-z0-9_]{0,62}$/)
          .optional()
          .describe('a table or view, to see its columns'),
      }),
      annotations: READS,
    },
    ({ table }) => answer(table === undefined ? relationsOf(schema) : columnsOf(schema, table), MOST_ROWS),
  );
  server.registerTool(
    'query',
    {
      title: 'Query',
      description:
        'Runs one SELECT of PostgreSQL over the mirror, as a login that can do nothing but read, for 60 seconds at most. ' +
        'Tables need no schema.',
      inputSchema: z.object({ sql: z.string().min(1).describe('one statement'), limit }),
      annotations: READS,
    },
    ({ sql, limit: rows }) => answer(sql, rows),
  );
  server.registerTool(
    'freshness',
    {
      title: 'Freshness',
      description:
        'How current the mirror is: of each account and collection rows, as of when, state, last error.',
      inputSchema: z.object({}),
      annotations: READS,
    },
    () => answer('select * from freshness order by _user_id, collection', MOST_ROWS),
  );
  server.registerTool(
    'changes',
    {
      title: 'Changes',
      description:
        'What changed, field by field, of one account, the newest first: collection, key, field, before, after, op.',
      inputSchema: z.object({
        user_id: bigint.describe('the account: select _user_id, email from account'),
        collection: z.enum(COLLECTION_NAMES as [string, ...string[]]).optional(),
        since_change_id: bigint
          .optional()
          .describe('only changes after this change ID: microseconds since 1970; default: of the last day'),
        limit,
      }),
      annotations: READS,
    },
    ({ user_id: user, collection, since_change_id: since, limit: rows }) =>
      answer(changesOf(user, since, collection), rows),
  );
  return server;
}

function relationsOf(schema: string): string {
  return `select c.relname as name, case c.relkind when 'v' then 'view' else 'table' end as kind,
      obj_description(c.oid, 'pg_class') as meaning
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${quotedText(schema)} and c.relkind in ('r', 'p', 'v') and left(c.relname, 1) <> '_'
      and has_table_privilege(c.oid, 'select')
    order by 1`;
}

function columnsOf(schema: string, table: string): string {
  return `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
      col_description(a.attrelid, a.attnum) as meaning
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${quotedText(schema)} and c.relname = ${quotedText(table)} and a.attnum > 0 and not a.attisdropped
    order by a.attnum`;
}

/** What is put in was checked by the tool's schema: digits, and names of the catalogue. */
function changesOf(user: string, since: string | undefined, collection: string | undefined): string {
  const after = since ?? `extract(epoch from now() - interval '1 day') * 1000000`;
  const only = collection === undefined ? '' : ` and collection = ${quotedText(collection)}`;
  return `select collection, key, op, field, before, after, changed_at, change_id from changes
    where _user_id = ${user} and change_id > ${after}${only} order by change_id desc, field`;
}
