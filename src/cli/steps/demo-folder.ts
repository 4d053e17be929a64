import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isPortFree, nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { Unusable } from '@research-mirror/runtime/errors';
import { readOrCreate } from '@research-mirror/runtime/read-or-create';
import type { Config, ServiceConfig } from '../../config/config.ts';
import { Secret } from '../../config/secret.ts';
import { shortPath } from '../terminal/short-path.ts';

// What a demo keeps in its folder, beside its database: the same addresses at each start.

/** The demo's account: nobody's secret. */
export const DEMO_KEY = 'demo-key';

/** Where a running demo is found. */
export interface DemoAddresses {
  readonly statusUrl: string;
  readonly serviceUrl: string;
  readonly controlUrl: string;
}

const ADDRESSES = 'addresses.json';
/** The emulated service's port: at another one the mirror refuses it as another service. */
export const SERVICE_PORT = 'service-port';

/** @throws Unusable where the file holds no port */
export async function servicePort(folder: string): Promise<number> {
  return readPort(folder, SERVICE_PORT);
}

/** The port of one of the demo's other listeners: the same as last time, or another where something else has it now. */
export async function keptPort(
  folder: string,
  name: 'control-port' | 'page-port' | 'webhook-port',
): Promise<number> {
  const port = await readPort(folder, name);
  if (await isPortFree(port)) return port;
  await rm(join(folder, name), { force: true });
  return readPort(folder, name);
}

async function readPort(folder: string, name: string): Promise<number> {
  const text = await readOrCreate(join(folder, name), async () => String(await nonEphemeralPort()));
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw unreadable(folder, name, 'port');
  return port;
}

export function unreadable(folder: string, name: string, what: string): Unusable {
  return new Unusable(
    `${shortPath(join(folder, name))} holds no ${what}: put the one back that it held, or begin anew by removing the folder ${shortPath(folder)}`,
  );
}

export async function saveAddresses(folder: string, addresses: DemoAddresses): Promise<void> {
  await writeFile(join(folder, ADDRESSES), `${JSON.stringify(addresses)}\n`);
}

export async function forgetAddresses(folder: string): Promise<void> {
  await rm(join(folder, ADDRESSES), { force: true });
}

/** Where the demo of this folder runs, as it said itself. Undefined: none does, or not any more. */
export async function savedAddresses(folder: string): Promise<DemoAddresses | undefined> {
  let text: string;
  try {
    text = await readFile(join(folder, ADDRESSES), 'utf8');
  } catch {
    return undefined;
  }
  const addresses = JSON.parse(text) as DemoAddresses;
  // One that was killed left the file, and nobody at its addresses.
  const gone = await isPortFree(Number(new URL(addresses.serviceUrl).port));
  return gone ? undefined : addresses;
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
