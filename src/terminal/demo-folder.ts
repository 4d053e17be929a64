import { isPortFree, nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { Unusable } from '@research-mirror/runtime/errors';
import { readOrCreate } from '@research-mirror/runtime/read-or-create';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config, ServiceConfig } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { Secret } from '../config/secret.ts';
import { demoFolder } from './open-mirror.ts';
import { type Shell, shortPath } from './shell.ts';

// What a demo keeps in its folder, beside its database: the same addresses at each start.

/** The demo's account: nobody's secret. */
export const DEMO_KEY = 'demo-key';

/** The emulated service's port: at another one the mirror refuses it as another service. */
export const SERVICE_PORT = 'service-port';

type PortName = typeof SERVICE_PORT | 'control-port' | 'page-port' | 'webhook-port';

/** @throws Unusable where the file holds no port */
export async function portOf(folder: string, name: PortName): Promise<number> {
  const text = await readOrCreate(join(folder, name), async () => String(await nonEphemeralPort()));
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw unreadable(folder, name, 'port');
  return port;
}

/** The port of one of the demo's other listeners: the same as last time, or another where something else has it now. */
export async function keptPort(folder: string, name: PortName): Promise<number> {
  const port = await portOf(folder, name);
  if (await isPortFree(port)) return port;
  await rm(join(folder, name), { force: true });
  return portOf(folder, name);
}

export function unreadable(folder: string, name: string, what: string): Unusable {
  return new Unusable(
    `${shortPath(join(folder, name))} holds no ${what}: put the one back that it held, or begin anew by removing the folder ${shortPath(folder)}`,
  );
}

/** Where the demo of this folder has its service. Undefined: none runs. */
async function runningDemo(folder: string): Promise<string | undefined> {
  if (!existsSync(join(folder, SERVICE_PORT))) return undefined;
  const port = await portOf(folder, SERVICE_PORT);
  // Both of the service's: one may be another program's since.
  const both = [port, await portOf(folder, 'control-port')];
  const free = await Promise.all(both.map((each) => isPortFree(each)));
  return free.includes(true) ? undefined : `http://127.0.0.1:${port}`;
}

/** The demo's configuration: nothing of the user's own account and database, which must not meet the demo's data. */
export function demoConfig(config: Config, folder: string, serviceUrl: string): ServiceConfig {
  return {
    ...config,
    dataDir: folder,
    database: { kind: 'embedded', dataDir: folder, pgBin: config.pgBin, port: 0 },
    service: { url: serviceUrl, keys: [new Secret(DEMO_KEY)] },
  };
}

/**
 * The configuration of a command that asks the service: the user's own, or that of a demo that runs beside where the
 * user has configured neither account nor database, or asks for it.
 * @throws InvalidConfig; Unusable where a demo is asked for and none runs
 */
export async function serviceConfig(shell: Shell, demo: boolean): Promise<ServiceConfig> {
  let config: Config;
  try {
    config = loadConfig(shell.env, 'database');
  } catch {
    // What is wrong is told all at once.
    return loadConfig(shell.env, 'service');
  }
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
