import { boundedServer, type ServerBounds } from '@research-mirror/runtime/bounded-server';
import { listenProblem } from '../../model/webhook/listen-problem.ts';
import { listener } from '@research-mirror/runtime/listening';
import { messageOf } from '@research-mirror/runtime/message';
import type { Service } from '@research-mirror/runtime/service';
import { type NoteLog, Notes } from './notes.ts';
import { type RequestLimits, Requests, type RequestsOptions } from './requests.ts';

export interface WebhookServerOptions extends Omit<RequestsOptions, 'notes' | 'limits'> {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly log: NoteLog;
  readonly limits?: Partial<WebhookServerLimits>;
}

export interface WebhookServerLimits extends RequestLimits, ServerBounds {}

/**
 * Body and answer: docs/design/events.md, "Deliveries". The rest is generous for a service, and tight for a flood.
 */
export const WEBHOOK_SERVER_LIMITS: WebhookServerLimits = {
  bodyBytes: 1024 * 1024,
  roomBytes: 64 * 1024 * 1024,
  largeBytesPerSecond: 8 * 1024 * 1024,
  answerMs: 1_000,
  headersMs: 5_000,
  requestMs: 10_000,
  connections: 1_000,
};

export interface WebhookServer extends Service {
  /** The port that is open; known once started. */
  port(): number;
}

/** What the listener is for, and which variables say where it listens. */
export const DELIVERIES = {
  what: 'deliveries',
  hostVariable: 'MIRROR_WEBHOOK_HOST',
  portVariable: 'MIRROR_WEBHOOK_PORT',
} as const;

/** The listener for deliveries, and nothing else: `POST /webhooks/<user_id>` and `GET /healthz`. */
export function createWebhookServer(options: WebhookServerOptions): WebhookServer {
  const { host, port, clock, log } = options;
  const limits = { ...WEBHOOK_SERVER_LIMITS, ...options.limits };
  const notes = new Notes(clock, log);
  const onRefused = (error: Error): void =>
    notes.say('warn', 'accept', `a connection for deliveries could not be taken: ${messageOf(error)}`);
  const explain = (error: NodeJS.ErrnoException): Error =>
    listenProblem(error, { ...DELIVERIES, host, port });
  const listening = listener('webhook server', { host, port, clock, explain, onRefused }, () => {
    const requests = new Requests({ ...options, limits, notes });
    return boundedServer(
      limits,
      clock,
      (request, response) => void requests.take(request, response),
      () => {
        const why = `more than ${limits.connections} connections for deliveries: new ones are refused`;
        notes.say('warn', 'drop', why);
      },
    );
  });
  return { ...listening, port: () => listening.address().port };
}
