import { isStopped } from '@research-mirror/runtime/service';
import { loadConfig } from '../config/load.ts';
import { runDaemon } from '../daemon/run-daemon.ts';
import { workOptions } from '../terminal/open-mirror.ts';
import { EXIT, type Shell, terminalOf } from '../terminal/shell.ts';

export async function startAction(shell: Shell) {
  const config = loadConfig(shell.env, 'service');
  try {
    shell.signal.throwIfAborted();
    const options = workOptions(shell, config, shell.out, 'info');
    await runDaemon(config, { ...options, toTerminal: terminalOf(shell) });
  } catch (error) {
    // An interrupt during the start is a clean stop, too.
    if (!isStopped(error)) throw error;
  }
  return EXIT.DONE;
}
