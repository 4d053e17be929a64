import { loadConfig } from '../../config/load.ts';
import { startSandbox } from '@research-mirror/sandbox/start-sandbox';
import { readSandboxOptions } from '@research-mirror/sandbox/switches/read-options';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { untilAborted } from '@research-mirror/runtime/service';
import { UsageError } from '../terminal/usage-error.ts';
import type { Shell } from '../terminal/shell.ts';

/** What `sandbox` does. */
export async function sandboxAction(
  shell: Shell,
  options: Readonly<Record<string, string | boolean | undefined>>,
): Promise<ExitCode> {
  // Nothing of it is needed, but a slip in a variable's name is told here, too.
  loadConfig(shell.env, 'database');
  const { json, ...switches } = options;
  const reading = readSandboxOptions(switches);
  if ('problems' in reading)
    throw new UsageError(reading.problems.map((problem) => `--${problem}`).join('\n'));
  const sandbox = await startSandbox(reading.options, shell.clock);
  try {
    const [first = ''] = reading.options.keys.split(',');
    const key = first.replace(/=[^=]*$/, '');
    shell.out.write(
      json === true
        ? `${JSON.stringify({ url: sandbox.url, controlUrl: sandbox.controlUrl, key })}\n`
        : `service      ${sandbox.url}\ncontrol API  ${sandbox.controlUrl}\nAPI key      ${key}\n\n` +
            `mirror it:   MIRROR_API_URL=${sandbox.url} MIRROR_API_KEY=${key} npx research-mirror start\n`,
    );
    await untilAborted(shell.signal);
  } finally {
    await sandbox.stop();
  }
  return EXIT.DONE;
}
