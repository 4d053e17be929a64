import type { AddressInfo } from 'node:net';
import { listenProblem } from '../model/webhook/listen-problem.ts';
import { boundedServer, type ServerBounds } from '@research-mirror/runtime/bounded-server';
import type { Logger } from '@research-mirror/runtime/logger';
import { listener } from '@research-mirror/runtime/listening';
import { messageOf } from '@research-mirror/runtime/message';
import type { Service } from '@research-mirror/runtime/service';
import { isLoopbackName } from './access.ts';
import { answersOf, type Sources } from './answers.ts';
import { takeRequest } from './http/take-request.ts';
import type { Lookups } from './lookup/lookup-routes.ts';
import type { Metrics } from './metrics.ts';
import { createRoutes } from './routes.ts';

export interface StatusServerOptions extends Sources {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Needed for any other host than loopback. */
  readonly token: string | undefined;
  readonly lookups: Lookups;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly bounds?: ServerBounds;
}

/** Some dozens of people, probes and scrapers; a live page takes one connection. */
const STATUS_SERVER_BOUNDS: ServerBounds = { connections: 250, headersMs: 5_000, requestMs: 10_000 };

/** Between two log lines about refused connections. */
const QUIET_MS = 60_000;

export interface StatusServer extends Service {
  /** Where the page is; known once started. */
  url(): string;
}

/** What the listener is for, and which variables say where it listens. */
export const STATUS_PAGE = {
  what: 'the status page',
  hostVariable: 'MIRROR_HTTP_HOST',
  portVariable: 'MIRROR_HTTP_PORT',
} as const;

/** The listener for people inside: status page, search, rows, `/api/…`, `/metrics`, `/healthz`, `/readyz`. */
export function createStatusServer(options: StatusServerOptions): StatusServer {
  const { host, port, token, clock, log, bounds = STATUS_SERVER_BOUNDS } = options;
  if (token === undefined && !isLoopbackName(host)) {
    throw new RangeError(`the status page on ${host} needs a token: others can reach it`);
  }
  const onRefused = (error: Error): void =>
    log.warn(`a connection for the status page could not be taken: ${messageOf(error)}`);
  const explain = (error: NodeJS.ErrnoException): Error =>
    listenProblem(error, { ...STATUS_PAGE, host, port });
  const server = listener('status server', { host, port, clock, explain, onRefused }, (stopped) => {
    const routes = createRoutes({
      answers: answersOf(options),
      lookups: options.lookups,
      metrics: options.metrics,
      token,
      clock,
      stopped,
    });
    const onError = (error: unknown, path: string): void =>
      log.error({ err: error, path }, 'the status server could not answer');
    let quietUntil = 0;
    return boundedServer(
      bounds,
      clock,
      (request, response) => void takeRequest(request, response, routes, onError),
      () => {
        if (clock.monotonic() < quietUntil) return;
        quietUntil = clock.monotonic() + QUIET_MS;
        log.warn(`more than ${bounds.connections} connections for the status page: new ones are refused`);
      },
    );
  });
  return { ...server, url: () => urlOf(host, server.address()) };
}

function urlOf(host: string, { port }: AddressInfo): string {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  // Whoever reads the line opens it on this machine.
  return `http://${name === '0.0.0.0' || name === '[::]' ? 'localhost' : name}:${port}/`;
}
