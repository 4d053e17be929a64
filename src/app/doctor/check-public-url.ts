import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LISTENER_ANSWER, whyAstray } from '../process/public-url.ts';
import { broken, type Findings, ok } from './check.ts';
import type { Context } from './context.ts';

/** Whether the public URL leads to this daemon's listener: to the one that runs, else to doctor's own in its place. */
export async function publicUrl({ config, signal }: Context): Promise<Findings> {
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
    own?.closeAllConnections();
    await own?.[Symbol.asyncDispose]();
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
