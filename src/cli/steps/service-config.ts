import type { Config, ServiceConfig } from '../../config/config.ts';
import { InvalidConfig } from '../../config/invalid.ts';
import { loadConfig } from '../../config/load.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import type { Shell } from '../terminal/shell.ts';
import { demoConfig, runningDemo } from './demo-folder.ts';
import { demoFolder } from './mirror.ts';

/**
 * The configuration of a command that asks the service: the user's own, or that of a demo that runs beside where the
 * user has configured neither account nor database, or asks for it.
 * @throws InvalidConfig; Unusable where a demo is asked for and none runs
 */
export async function serviceConfig(shell: Shell, demo: boolean): Promise<ServiceConfig> {
  const config = withoutService(shell);
  // What is wrong is told all at once.
  if (config === undefined) return loadConfig(shell.env, 'service');
  const own = config.service !== undefined || config.database.kind === 'external';
  if (own && !demo) return loadConfig(shell.env, 'service');
  const folder = demoFolder(config);
  const running = await runningDemo(folder);
  if (running !== undefined) {
    if (!demo)
      shell.err.write('(this is about the demo, which runs here: no account of yours is configured)\n');
    return demoConfig(config, folder, running);
  }
  if (demo) throw new Unusable('no demo runs here: "research-mirror demo"');
  return loadConfig(shell.env, 'service');
}

/** Undefined where something of it is wrong. */
function withoutService(shell: Shell): Config | undefined {
  try {
    return loadConfig(shell.env, 'database');
  } catch (error) {
    if (error instanceof InvalidConfig) return undefined;
    throw error;
  }
}
