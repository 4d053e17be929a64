import type { AddressInfo } from 'node:net';
import { httpListener } from '@research-mirror/runtime/http-listener';
import type { Logger } from '@research-mirror/runtime/logger';
import { Notes } from '@research-mirror/runtime/notes';
import type { Service } from '@research-mirror/runtime/service';
import { listenProblem } from '../model/webhook/listen-problem.ts';
import { isLoopbackName } from './access.ts';
import { answersOf, type Sources } from './answers.ts';
import type { Lookups } from './lookup/lookup-routes.ts';
import type { Metrics } from './metrics.ts';
import { jsonReply } from './reply.ts';
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
}

/** Longer than any question to the database may take. */
const ANSWER_MS = 30_000;

export interface StatusServer extends Service {
  /** Where the page is; known once started. */
  url(): string;
}

/** What the listener is for, and which variables say where it listens. */
const STATUS_PAGE = {
  what: 'the status page',
  hostVariable: 'MIRROR_HTTP_HOST',
  portVariable: 'MIRROR_HTTP_PORT',
} as const;

/** The listener for people inside: status page, search, rows, `/api/…`, `/metrics`, `/healthz`, `/readyz`. */
export function createStatusServer(options: StatusServerOptions): StatusServer {
  const { host, port, token, clock, log, lookups, metrics } = options;
  if (token === undefined && !isLoopbackName(host)) {
    throw new RangeError(`the status page on ${host} needs a token: others can reach it`);
  }
  const server = httpListener({
    name: 'status server',
    what: STATUS_PAGE.what,
    host,
    port,
    clock,
    notes: new Notes(clock, log),
    answerMs: ANSWER_MS,
    explain: (error) => listenProblem(error, { ...STATUS_PAGE, host, port }),
    answer: createRoutes({ answers: answersOf(options), lookups, metrics, token, clock }),
    refusal: (status, error) => jsonReply({ error }, status),
    onDefect: (error, target) =>
      log.error({ err: error, path: target.split('?', 1)[0] }, 'the status server could not answer'),
  });
  return { ...server, url: () => urlOf(host, server.address()) };
}

function urlOf(host: string, { port }: AddressInfo): string {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  // Whoever reads the line opens it on this machine.
  return `http://${name === '0.0.0.0' || name === '[::]' ? 'localhost' : name}:${port}/`;
}
