import { mirrorServer } from './mcp-server.ts';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { stdin, stdout } from 'node:process';
import { programVersion } from '../../app/program-files.ts';
import { loadConfig } from '../../config/load.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { untilAborted } from '@research-mirror/runtime/service';
import { StatementRefused } from '../../db/roles/read-only-query.ts';
import { askMirror } from '../sql/answer-query.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { CollectedRows } from './collected-rows.ts';
import type { Shell } from '../terminal/shell.ts';

/** Milliseconds of one query. */
const TIMEOUT = 60_000;

/** What `mcp` does. */
export async function mcpAction(shell: Shell, { demo = false }: { demo?: boolean }): Promise<ExitCode> {
  const config = loadConfig(shell.env, 'database');
  const ask = async (text: string, limit: number): Promise<string> => {
    const collected = new CollectedRows(limit);
    try {
      await askMirror(shell, config, { command: 'mcp', text, timeout: TIMEOUT, demo }, collected);
    } catch (error) {
      const hint = error instanceof StatementRefused && error.hint !== undefined ? ` (${error.hint})` : '';
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
}
