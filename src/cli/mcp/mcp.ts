import { stdin, stdout } from 'node:process';
import { programVersion } from '../../app/program-files.ts';
import { loadConfig } from '../../config/load.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { untilAborted } from '@research-mirror/runtime/service';
import { StatementRefused } from '../../db/roles/read-only-query.ts';
import { askMirror } from '../sql/answer-query.ts';
import { examples, type AddCommand } from '../terminal/add-command.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { CollectedRows } from './collected-rows.ts';

/** Milliseconds of one query. */
const TIMEOUT = 60_000;

export const addMcp: AddCommand = (program, run) => {
  program
    .command('mcp')
    .summary('the mirror for language models: Model Context Protocol on stdio')
    .description(
      'Serves the Model Context Protocol on stdin and stdout, until stdin is closed: tables and columns with what they ' +
        'mean, queries, freshness, changes. All of it is read by the login by which sql reads, 1,000 rows and 60 seconds ' +
        'at most. For the configuration of a client, not for people.',
    )
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText(
      'after',
      examples([
        ['claude mcp add mirror -- npx research-mirror mcp', 'for one client; others take the same command'],
        ['DATABASE_URL=postgres://mirror_sql:…@host/db npx research-mirror mcp', 'beside a server of yours'],
      ]),
    )
    .action(
      run(async (shell, { demo = false }: { demo?: boolean }) => {
        const config = loadConfig(shell.env, 'database');
        // Loaded when needed: no other command needs any of it.
        const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
        const { mirrorServer } = await import('./mcp-server.ts');
        const ask = async (text: string, limit: number): Promise<string> => {
          const collected = new CollectedRows(limit);
          try {
            await askMirror(shell, config, { command: 'mcp', text, timeout: TIMEOUT, demo }, collected);
          } catch (error) {
            const hint =
              error instanceof StatementRefused && error.hint !== undefined ? ` (${error.hint})` : '';
            throw new Error(shell.scrubber.scrub(messageOf(error) + hint), { cause: error });
          }
          return JSON.stringify(collected.answer());
        };
        const closed = new Promise<void>((resolve) => {
          stdin.once('end', resolve).once('close', resolve);
          stdout.once('error', () => resolve());
        });
        const served = serveStdio(() => mirrorServer(programVersion(), config.schema, ask), {
          onerror: (error) => shell.err.write(shell.scrubber.scrub(`research-mirror: ${messageOf(error)}\n`)),
        });
        await Promise.race([closed, untilAborted(shell.signal)]);
        await served.close();
        return EXIT.DONE;
      }),
    );
};
