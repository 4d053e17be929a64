import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Server } from 'node:http';

/** The server of this process that answers at `url`: for what only the operating system can do to it. */
export async function serverBehind(url: string): Promise<Server> {
  let found: unknown;
  const see = (message: unknown): void => {
    ({ server: found } = message as { server: unknown });
  };
  subscribe('http.server.request.start', see);
  await (await fetch(url)).text();
  unsubscribe('http.server.request.start', see);
  if (!(found instanceof Server)) throw new Error(`no server was seen at ${url}`);
  return found;
}
