import { mirrorServer } from './mcp-server.ts';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { stdin, stdout } from 'node:process';
import { programVersion } from '../../app/program-files.ts';
import { loadConfig } from '../../config/load.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { untilAborted } from '@research-mirror/runtime/service';
import { StatementRefused, type RowReceiver } from '../../db/roles/read-only-query.ts';
import { askMirror } from '../sql/answer-query.ts';
import { EXIT, UsageError, type ExitCode } from '../terminal/exit-code.ts';
import { complain, type Shell } from '../terminal/shell.ts';
import { formatCount } from '@research-mirror/runtime/figures';

/** Characters of all values: what a model reads at once is bounded. */
const MOST_CHARACTERS = 200_000;

/**
 * The first rows of an answer, in memory, `limit` at most. Values are in Postgres's own text form, with every digit.
 * `more`: some rows were left out.
 */
function collectedRows(limit: number) {
  let names: readonly string[] = [];
  let characters = 0;
  const answer: { readonly rows: Readonly<Record<string, string | null>>[]; more: boolean } = {
    rows: [],
    more: false,
  };
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
          `the first row alone has ${formatCount(characters)} characters, and an answer may have ` +
            `${formatCount(MOST_CHARACTERS)}: choose fewer columns, or a part of a value: left(column, 1000)`,
        );
      }
      if (!answer.more) rows.push(Object.fromEntries(values.map((value, at) => [names[at] ?? '', value])));
      return !answer.more;
    },
  };
  return { answer, receiver };
}

/** Milliseconds of one query. */
const TIMEOUT = 60_000;

/** What `mcp` does. */
export async function mcpAction(shell: Shell, { demo = false }: { demo?: boolean }): Promise<ExitCode> {
  const config = loadConfig(shell.env, 'database');
  const ask = async (text: string, limit: number): Promise<string> => {
    const { answer, receiver } = collectedRows(limit);
    try {
      await askMirror(shell, config, { command: 'mcp', text, timeout: TIMEOUT, demo }, receiver);
    } catch (error) {
      const hint = error instanceof StatementRefused && error.hint !== undefined ? ` (${error.hint})` : '';
      throw new Error(shell.scrubber.scrub(messageOf(error) + hint), { cause: error });
    }
    return JSON.stringify(answer);
  };
  const closed = new Promise<void>((resolve) => {
    stdin.once('end', resolve).once('close', resolve);
    stdout.once('error', () => resolve());
  });
  const served = serveStdio(() => mirrorServer(programVersion(), config.schema, ask), {
    onerror: (error) => complain(shell, messageOf(error)),
  });
  await Promise.race([closed, untilAborted(shell.signal)]);
  await served.close();
  return EXIT.DONE;
}
