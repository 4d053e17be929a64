import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { messageOf } from '@research-mirror/runtime/message';
import { listenProblem } from '../../model/webhook/listen-problem.ts';
import { STATUS_PAGE } from '../../status/server.ts';
import { DELIVERIES } from '../../webhooks/receive/webhook-server.ts';
import { beginningOf, LISTENER_ANSWER, LISTENER_PATH, whyAstray } from '../process/public-url.ts';
import { broken, type Check, type CheckFinding, type Findings, ok } from './check.ts';
import { writable } from './check-database.ts';
import type { Context } from './context.ts';

/** What the program's own listeners are for, and what they answer where. */
const STATUS = { ...STATUS_PAGE, path: '/healthz', reply: '{"ok":true}' };
const WEBHOOK = { ...DELIVERIES, path: LISTENER_PATH, reply: LISTENER_ANSWER };
/** How long (ms) a port is waited for that another program has. */
const PORT_MS = 2_000;

export const LISTENER_CHECKS: readonly Check<Context>[] = [
  { name: 'status_port', run: (context) => port(context.config.http, STATUS, context) },
  {
    name: 'webhook_port',
    run: async (context) => {
      const { webhook } = context.config;
      return webhook.publicUrl === undefined ? [] : port(webhook, WEBHOOK, context);
    },
  },
  { name: 'public_url', after: ['webhook_port'], run: publicUrl },
];

/** Whether the daemon could listen there, or does. */
async function port(
  where: { readonly host: string; readonly port: number },
  what: typeof STATUS | typeof WEBHOOK,
  context: Context,
): Promise<CheckFinding> {
  const place = `${where.host}:${where.port}`;
  try {
    await closed(await listen(where, ''));
    return ok(where.port === 0 ? 'any free port' : `${place} is free`);
  } catch (failure) {
    const error = failure as NodeJS.ErrnoException;
    if (error.code === 'EADDRINUSE' && (await context.daemonLives()))
      return ok(`${place} is in use, and a daemon of this mirror runs`);
    if (error.code === 'EADDRINUSE' && (await isHidden(context)) && (await isOurs(where, what, context)))
      return ok(`${place} is in use: a research-mirror runs there; the database can't tell whether this one`);
    const ofPort = error.code === 'EADDRINUSE' || error.code === 'EACCES';
    return broken(
      messageOf(listenProblem(error, { ...what, ...where })),
      ofPort ? { command: `export ${what.portVariable}=${await nonEphemeralPort()}` } : {},
    );
  }
}

/** Whether a daemon may run that the database does not show: it can't be asked, or takes no heartbeats. */
async function isHidden(context: Context): Promise<boolean> {
  try {
    const db = await context.mirror();
    return db !== undefined && (await writable(db, context)).state === 'broken';
  } catch {
    return true;
  }
}

/** Whether what listens there answers as this program does. */
async function isOurs(
  { host, port: number }: { readonly host: string; readonly port: number },
  { path, reply }: typeof STATUS | typeof WEBHOOK,
  { signal }: Context,
): Promise<boolean> {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  try {
    const bound = AbortSignal.any([signal, AbortSignal.timeout(PORT_MS)]);
    const answer = await fetch(`http://${name}:${number}${path}`, { signal: bound, redirect: 'manual' });
    return (await beginningOf(answer)) === reply;
  } catch {
    return false;
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
