import { createAdaptorServer } from '@hono/node-server';
import type { AddressInfo } from 'node:net';
import { Unusable } from '../model/errors.ts';
import type { StatusReport } from '../model/status-report.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { messageOf } from '../runtime/message.ts';
import { service, type Service } from '../runtime/service.ts';
import { isLoopback } from './access.ts';
import { answersOf, type Ready } from './answers.ts';
import type { Metrics } from './metrics.ts';
import { createRoutes } from './routes.ts';

export interface StatusServerOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Needed for any other host than loopback. */
  readonly token: string | undefined;
  /** Called at most once a second, however many look on. */
  readonly status: () => Promise<StatusReport>;
  readonly ready: () => Promise<Ready>;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface StatusServer extends Service {
  /** Where the page is; known once started. */
  url(): string;
}

/** Requests under way get this long at a stop, in milliseconds; live pages are ended at once. */
const GRACE_MS = 1_000;

/** The listener for people inside: status page, `/api/status`, `/metrics`, `/healthz`, `/readyz`. */
export function createStatusServer(options: StatusServerOptions): StatusServer {
  const { host, port, token, clock, log } = options;
  if (token === undefined && !isLoopback(host)) {
    throw new RangeError(`the status page on ${host} needs a token: others can reach it`);
  }
  let url: string | undefined;
  const body = service('status server', async ({ signal, ready }) => {
    const routes = createRoutes({
      answers: answersOf(options),
      metrics: options.metrics,
      token,
      onlyLoopbackNames: token === undefined,
      clock,
      log,
      stopped: signal,
    });
    const server = createAdaptorServer({ fetch: routes.fetch, hostname: host, overrideGlobalObjects: false });
    const ended = Promise.withResolvers<void>();
    server.once('error', (error: NodeJS.ErrnoException) => ended.reject(problemOf(error, host, port)));
    const over = new AbortController();
    const close = (): void => {
      server.close(() => ended.resolve());
      clock.sleep(GRACE_MS, over.signal).then(
        () => 'closeAllConnections' in server && server.closeAllConnections(),
        () => {},
      );
    };
    server.once('listening', () => {
      url = urlOf(host, server.address() as AddressInfo);
      // A stop that came before the port was open could not close it.
      if (signal.aborted) close();
      ready();
    });
    server.listen(port, host);
    signal.addEventListener('abort', () => server.listening && close(), { once: true });
    try {
      await ended.promise;
    } finally {
      over.abort();
    }
  });
  return {
    ...body,
    url() {
      if (url === undefined) throw new RangeError('the status server has not started');
      return url;
    },
  };
}

function urlOf(host: string, { port }: AddressInfo): string {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  // Whoever reads the line opens it on this machine.
  return `http://${name === '0.0.0.0' || name === '[::]' ? 'localhost' : name}:${port}/`;
}

function problemOf(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === 'EADDRINUSE') {
    return new Unusable(
      `the status page's address ${host}:${port} is in use (by another research-mirror?): set MIRROR_HTTP_PORT to a free port`,
    );
  }
  if (error.code === 'EACCES') {
    return new Unusable(`port ${port} may not be opened: set MIRROR_HTTP_PORT to one above 1023`);
  }
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
    return new Unusable(`${host} is no address of this machine: set MIRROR_HTTP_HOST`);
  }
  return new Error(`the status page can't listen on ${host}:${port}: ${messageOf(error)}`, { cause: error });
}
