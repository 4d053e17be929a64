/** `mcp`: read-only SQL for language models, over the Model Context Protocol. */

import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { formatCount } from '@research-mirror/runtime/figures';
import { messageOf } from '@research-mirror/runtime/message';
import { untilAborted } from '@research-mirror/runtime/service';
import { z } from 'zod';
import { stdin, stdout } from 'node:process';
import { loadConfig } from '../config/load.ts';
import { programVersion } from '../config/program.ts';
import { COLLECTION_NAMES } from '../model/collections.ts';
import { quotedText } from '../postgres/db.ts';
import { complain, EXIT, type Shell, UsageError } from '../terminal/shell.ts';
import { type RowReceiver, StatementRefused } from './read-only-query.ts';
import { askMirror } from './sql.ts';

/** Most characters of an answer, for a model's context. */
const MOST_CHARACTERS = 200_000;

/** Collects at most `limit` rows, in Postgres's text form. `more`: some rows were left out. */
function collectedRows(limit: number) {
  let names: readonly string[] = [];
  let characters = 0;
  const answer = { rows: [] as Record<string, string | null>[], more: false };
  const receiver: RowReceiver = {
    columns: (columns) => {
      names = columns.map(({ name }) => name);
    },
    row: (values) => {
      const { rows } = answer;
      characters += values.reduce((sum, value) => sum + (value?.length ?? 0), 0);
      answer.more = rows.length === limit || characters > MOST_CHARACTERS;
      if (answer.more && rows.length === 0) {
        throw new UsageError(
          `the first row alone has ${formatCount(characters)} characters; an answer may have ` +
            `${formatCount(MOST_CHARACTERS)}. Select fewer columns, or part of a value: left(column, 1000)`,
        );
      }
      if (!answer.more) rows.push(Object.fromEntries(values.map((value, at) => [names[at] ?? '', value])));
      return !answer.more;
    },
  };
  return { answer, receiver };
}

/** Of one query, ms. */
const TIMEOUT = 60_000;

type Answer = { isError?: boolean; content: { type: 'text'; text: string }[] };

export async function mcpAction(shell: Shell, { demo = false }: { demo?: boolean }) {
  const config = loadConfig(shell.env, 'database');
  const ask = async (text: string, limit: number): Promise<Answer> => {
    const { answer, receiver } = collectedRows(limit);
    try {
      await askMirror(shell, config, { command: 'mcp', text, timeout: TIMEOUT, demo }, receiver);
      return { content: [{ type: 'text', text: JSON.stringify(answer) }] };
    } catch (error) {
      const hint = error instanceof StatementRefused && error.hint !== undefined ? ` (${error.hint})` : '';
      const why = shell.scrubber.scrub(messageOf(error) + hint);
      return { isError: true, content: [{ type: 'text', text: why }] };
    }
  };
  const closed = new Promise<void>((resolve) => {
    stdin.once('end', resolve).once('close', resolve);
    stdout.once('error', () => resolve());
  });
  const served = serveStdio(() => mirrorServer(config.schema, ask), {
    onerror: (error) => complain(shell, messageOf(error)),
  });
  await Promise.race([closed, untilAborted(shell.signal)]);
  await served.close();
  return EXIT.DONE;
}

const USUAL_ROWS = 100;
const MOST_ROWS = 1_000;

const READS = { readOnlyHint: true, openWorldHint: false } as const;

const limit = z
  .number()
  .int()
  .min(1)
  .max(MOST_ROWS)
  .default(USUAL_ROWS)
  .describe(`maximum number of rows; "more" says whether there are others`);
/** Text, since no JavaScript number holds every bigint. */
const bigint = z.string().regex(/^\d{1,19}$/);

/** Tools to see what there is, read it, and learn what changed. @param ask queries by a login that can only read */
function mirrorServer(schema: string, ask: (text: string, limit: number) => Promise<Answer>): McpServer {
  const server = new McpServer(
    { name: 'research-mirror', version: programVersion() },
    {
      instructions:
        'A Postgres mirror of one or more accounts of a Research & Enrichment Service. Start with "tables". All ' +
        'accounts share the tables; _user_id says whose a row is. <table>_live has no deleted rows. Times are UTC.',
    },
  );
  server.registerTool(
    'tables',
    {
      title: 'Tables and columns',
      description:
        'Lists the tables and views of the mirror and their meaning; for one of them, its columns with type and meaning.',
      inputSchema: z.object({
        table: z
          .string()
          .regex(/^[a-z_][a-z0-9_]{0,62}$/)
          .optional()
          .describe('a table or view, to see its columns'),
      }),
      annotations: READS,
    },
    ({ table }) => {
      const relations = `select c.relname as name, case c.relkind when 'v' then 'view' else 'table' end as kind,
          obj_description(c.oid, 'pg_class') as meaning
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = ${quotedText(schema)} and c.relkind in ('r', 'p', 'v') and left(c.relname, 1) <> '_'
          and has_table_privilege(c.oid, 'select')
        order by 1`;
      if (table === undefined) return ask(relations, MOST_ROWS);
      const columns = `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
          col_description(a.attrelid, a.attnum) as meaning
        from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = ${quotedText(schema)} and c.relname = ${quotedText(table)} and a.attnum > 0 and not a.attisdropped
        order by a.attnum`;
      return ask(columns, MOST_ROWS);
    },
  );
  server.registerTool(
    'query',
    {
      title: 'Query',
      description:
        'Runs one PostgreSQL SELECT on the mirror, as a login that can only read, for at most 60 seconds. ' +
        'Table names need no schema.',
      inputSchema: z.object({ sql: z.string().min(1).describe('one statement'), limit }),
      annotations: READS,
    },
    ({ sql, limit: rows }) => ask(sql, rows),
  );
  server.registerTool(
    'freshness',
    {
      title: 'Freshness',
      description: 'How current the mirror is: rows, as-of time, state and last error of each account and collection.',
      inputSchema: z.object({}),
      annotations: READS,
    },
    () => ask('select * from freshness order by _user_id, collection', MOST_ROWS),
  );
  server.registerTool(
    'changes',
    {
      title: 'Changes',
      description:
        'What changed in one account, field by field, newest first: collection, key, field, before, after, op.',
      inputSchema: z.object({
        user_id: bigint.describe('the account: select _user_id, email from account'),
        collection: z.enum(COLLECTION_NAMES as [string, ...string[]]).optional(),
        since_change_id: bigint
          .optional()
          .describe('only changes after this change ID (microseconds since 1970); default: the last day'),
        limit,
      }),
      annotations: READS,
    },
    ({ user_id: user, collection, since_change_id: since, limit: rows }) => {
      // The tool's schema has checked the values: digits, and names of collections.
      const after = since ?? `extract(epoch from now() - interval '1 day') * 1000000`;
      const only = collection === undefined ? '' : ` and collection = ${quotedText(collection)}`;
      const changes = `select collection, key, op, field, before, after, changed_at, change_id from changes
        where _user_id = ${user} and change_id > ${after}${only} order by change_id desc, field`;
      return ask(changes, rows);
    },
  );
  return server;
}
