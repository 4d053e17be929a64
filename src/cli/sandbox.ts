import { untilAborted } from '@research-mirror/runtime/service';
import { startSandbox } from '@research-mirror/sandbox/start-sandbox';
import { readSandboxOptions } from '@research-mirror/sandbox/switches/read-options';
import { loadConfig } from '../config/load.ts';
import { EXIT, type Shell, UsageError } from '../terminal/shell.ts';

export async function sandboxAction(shell: Shell, options: Readonly<Record<string, string | boolean | undefined>>) {
  // The configuration is not needed, but a misspelt variable is reported here, too.
  loadConfig(shell.env, 'database');
  const { json, ...switches } = options;
  const reading = readSandboxOptions(switches);
  if ('problems' in reading) throw new UsageError(reading.problems.map((problem) => `--${problem}`).join('\n'));
  const sandbox = await startSandbox(reading.options, shell.clock);
  try {
    const [first = ''] = reading.options.keys.split(',');
    const key = first.replace(/=[^=]*$/, '');
    const { url, controlUrl } = sandbox;
    const told =
      `service      ${url}\ncontrol API  ${controlUrl}\nAPI key      ${key}\n\n` +
      `mirror it:   MIRROR_API_URL=${url} MIRROR_API_KEY=${key} npx research-mirror start`;
    shell.out.write(`${json === true ? JSON.stringify({ url, controlUrl, key }) : told}\n`);
    await untilAborted(shell.signal);
  } finally {
    await sandbox.stop();
  }
  return EXIT.DONE;
}
