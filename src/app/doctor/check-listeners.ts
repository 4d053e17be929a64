import { access } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { listenProblem, type Listener } from '../../model/webhook/listen-problem.ts';
import { isLoopbackName } from '../../status/access.ts';
import type { STATUS_PAGE } from '../../status/server.ts';
import type { DELIVERIES } from '../../webhooks/receive/webhook-server.ts';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { messageOf } from '@research-mirror/runtime/message';
import type { Report } from './check.ts';

/** A listener of the daemon's, as it is now. */
export type PortState =
  /** Nobody's: doctor listens there itself, until `close`. */
  | { readonly state: 'free'; readonly port: number; close(): Promise<void> }
  /** A daemon of this mirror has it. */
  | { readonly state: 'ours' }
  | { readonly state: 'taken' };

/** What doctor's own listener answers to everything. */
export type Reply = string;

/**
 * Listens where the daemon does, to find out whether it could. It is closed again before doctor ends.
 * @param daemonLives a daemon of this mirror runs: who is in the way, and answers like one, is it
 */
export async function tryPort(
  check: string,
  where: Pick<Listener, 'host' | 'port'>,
  what: typeof STATUS_PAGE | typeof DELIVERIES,
  daemonLives: boolean,
  reply: Reply,
  report: Report,
): Promise<PortState> {
  const { host, port } = where;
  const place = `${host}:${port}`;
  try {
    const server = await listen(host, port, reply);
    report(check, 'ok', port === 0 ? 'any free port' : `${place} is free`);
    const { port: open } = server.address() as AddressInfo;
    return { state: 'free', port: open, close: () => closed(server) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' && daemonLives) {
      report(check, 'ok', `${place} is in use, and a daemon of this mirror runs`);
      return { state: 'ours' };
    }
    const problem = listenProblem(error as NodeJS.ErrnoException, { ...what, ...where });
    const another = { command: `export ${what.portVariable}=${await nonEphemeralPort()}` };
    const ofPort = code === 'EADDRINUSE' || code === 'EACCES';
    report(check, 'broken', messageOf(problem), ofPort ? another : {});
    return { state: 'taken' };
  }
}

function listen(host: string, port: number, reply: Reply): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((request, response) => {
      request.resume();
      response.setHeader('content-type', 'text/plain');
      response.end(reply);
    });
    server.once('error', reject);
    server.listen(port, host, () => resolve(server));
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Whether others than this machine could read the status page without the operator's token. */
export async function checkToken({ http, dataDir }: Config, report: Report): Promise<void> {
  const file = join(dataDir, 'status-token');
  if (http.token !== undefined) report('status_token', 'ok', 'MIRROR_STATUS_TOKEN is asked for');
  else if (isLoopbackName(http.host))
    report('status_token', 'ok', `none: ${http.host} is for this machine only`);
  else if (await isThere(file)) report('status_token', 'ok', `the one in ${file} is asked for`);
  else {
    report(
      'status_token',
      'warning',
      `others can reach ${http.host}, and MIRROR_STATUS_TOKEN is not set: the first start makes one`,
      {
        remedy: `it is shown once in the log, and kept in ${file}; or choose one`,
        command: 'export MIRROR_STATUS_TOKEN="$(openssl rand -hex 24)"',
      },
    );
  }
}

function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
