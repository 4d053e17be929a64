import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** In place of the service's answer: `message` is what the error body says, `html` takes its place. `nothing`: none comes. */
export type Refusal =
  | { status: number; message: string; headers?: Readonly<Record<string, string>>; html?: string }
  | 'nothing';
/** Undefined: the service is asked. */
type Judge = (request: IncomingMessage) => Refusal | undefined;

export type Gateway = Awaited<ReturnType<typeof createGateway>>;

/**
 * An HTTP address that stands before the sandbox: it can be gone, come back, and refuse by itself.
 * @param target `{base_url}` of the service behind it
 */
export async function createGateway(target: string) {
  let judge: Judge | undefined;
  const server = createServer((incoming, answer) => {
    const refusal = judge?.(incoming);
    if (refusal === undefined) passOn(target, incoming, answer);
    else if (refusal !== 'nothing') {
      const { status, message, headers, html } = refusal;
      const type = html === undefined ? 'application/json' : 'text/html';
      answer.writeHead(status, { 'content-type': type, ...headers });
      answer.end(html ?? JSON.stringify({ error: { message } }));
    }
  });
  const open = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
  await open(0);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    refuse: (given: Judge | undefined): void => {
      judge = given;
    },
    /** Listens again, on the same port. */
    open: () => open(port),
    /** Stops listening, and cuts what is under way. */
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function passOn(target: string, incoming: IncomingMessage, answer: ServerResponse): void {
  const { method, headers } = incoming;
  const onward = request(`${target}${incoming.url ?? ''}`, { method: method ?? 'GET', headers }, (got) => {
    answer.writeHead(got.statusCode ?? 502, got.headers);
    got.pipe(answer);
  });
  onward.on('error', () => answer.destroy());
  incoming.pipe(onward);
}
