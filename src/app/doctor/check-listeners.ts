import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { messageOf } from '@research-mirror/runtime/message';
import { type Listener, listenProblem } from '../../model/webhook/listen-problem.ts';
import { STATUS_PAGE } from '../../status/server.ts';
import { DELIVERIES } from '../../webhooks/receive/webhook-server.ts';
import { LISTENER_ANSWER, whyAstray } from '../process/public-url.ts';
import { broken, type Check, type CheckFinding, type Findings, ok, unknown } from './check.ts';
import type { Context } from './context.ts';

export const LISTENER_CHECKS: readonly Check<Context>[] = [
  { name: 'status_port', run: (context) => port({ ...STATUS_PAGE, ...context.config.http }, context) },
  {
    name: 'webhook_port',
    run: async (context) => {
      const { webhook } = context.config;
      return webhook.publicUrl === undefined ? [] : port({ ...DELIVERIES, ...webhook }, context);
    },
  },
  { name: 'public_url', after: ['webhook_port'], run: publicUrl },
];

/** Whether the daemon could listen there, or does. */
async function port(where: Listener, context: Context): Promise<CheckFinding> {
  const place = `${where.host}:${where.port}`;
  try {
    await closed(await listen(where, ''));
    return ok(where.port === 0 ? 'any free port' : `${place} is free`);
  } catch (failure) {
    const error = failure as NodeJS.ErrnoException;
    const lives = error.code === 'EADDRINUSE' ? await context.daemonLives() : false;
    if (lives === true) return ok(`${place} is in use, and a daemon of this mirror runs`);
    if (lives === undefined)
      return unknown(`${place} is in use: the database can't tell whether by this mirror`);
    const ofPort = error.code === 'EADDRINUSE' || error.code === 'EACCES';
    const command = ofPort ? `export ${where.portVariable}=${await nonEphemeralPort()}` : null;
    return broken(messageOf(listenProblem(error, where)), { command });
  }
}

/** Listens where the daemon does, and answers `reply` to everything. @throws as the system refuses it */
async function listen({ host, port }: { host: string; port: number }, reply: string): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'text/plain').end(reply);
  });
  server.listen(port, host);
  await once(server, 'listening');
  return server;
}

async function closed(server: Server): Promise<void> {
  const closing = server[Symbol.asyncDispose]();
  server.closeAllConnections();
  await closing;
}

/** Whether the public URL leads to this daemon's listener: to the one that runs, else to doctor's own in its place. */
async function publicUrl({ config, signal }: Context): Promise<Findings> {
  const { publicUrl: url, host, port: wanted } = config.webhook;
  if (url === undefined) return [];
  // So that no other program's answer is taken for ours.
  const reply = randomBytes(16).toString('hex');
  const own = await listen(config.webhook, reply).catch(() => undefined);
  try {
    const place = `${host}:${own === undefined ? wanted : (own.address() as AddressInfo).port}`;
    const astray = await whyAstray(url, place, own === undefined ? LISTENER_ANSWER : reply, signal);
    signal.throwIfAborted();
    if (astray === undefined) return ok(`${url} leads to ${place}, seen from here`);
    return broken(astray.found, { remedy: astray.remedy });
  } finally {
    if (own !== undefined) await closed(own);
  }
}
