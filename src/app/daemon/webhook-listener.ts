import { createEventSink } from '../../db/events/event-sink.ts';
import { receivingAccounts } from '../../db/webhook/receiving-accounts.ts';
import type { Config } from '../../config/config.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Logger } from '@research-mirror/runtime/logger';
import type { Metrics } from '../../status/metrics.ts';
import { createWebhookServer, type WebhookServer } from '../../webhooks/receive/webhook-server.ts';
import type { AccountsService } from '../accounts/accounts-service.ts';
import type { OpenMirror } from '../process/open-mirror.ts';
import type { WriteHealth } from './readiness.ts';

export interface WebhookListenerOptions {
  readonly config: Config;
  readonly mirror: Pick<OpenMirror, 'beside'>;
  readonly accounts: AccountsService;
  readonly metrics: Pick<Metrics, 'deliveryJudged'>;
  readonly writes: Pick<WriteHealth, 'refused' | 'wentThrough'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Takes a secret that was learnt while running: no output shows it then. */
  readonly hide: (secret: string) => void;
}

/** The listener for deliveries. */
export interface WebhookListener {
  readonly server: WebhookServer;
  /** To be called when this process has changed the account's registration. */
  registrationChanged(userId: string): void;
}

/** Connections for deliveries: each delivery needs one for some milliseconds, and has to be answered in a second. */
const CONNECTIONS = 4;

/** @param publicUrl MIRROR_PUBLIC_URL */
export async function webhookListener(
  publicUrl: string,
  { config, mirror, accounts, metrics, writes, clock, log, hide }: WebhookListenerOptions,
): Promise<WebhookListener> {
  const { webhook } = config;
  const db = mirror.beside(CONNECTIONS);
  const sink = createEventSink({ db, collections: config.collections, clock });
  const bellsOf = (userId: string) =>
    accounts
      .runners()
      .find((runner) => runner.userId === userId)
      ?.current()?.bells;
  const receiving = receivingAccounts({
    db,
    clock,
    allPinged: () => accounts.allKnown(),
    hide,
    onSuspicion: (userId) => bellsOf(userId)?.registration.ring(),
  });
  const server = createWebhookServer({
    ...webhook,
    prefix: new URL(publicUrl).pathname.replace(/\/+$/, ''),
    accounts: receiving,
    store: {
      async store(userId, event) {
        const outcome = await sink.store(userId, event).catch((error: unknown) => {
          writes.refused('delivery', error);
          throw error;
        });
        if (outcome === 'stored') writes.wentThrough('delivery');
        metrics.deliveryJudged(outcome, event.type);
        return outcome;
      },
    },
    clock,
    log,
    onEvent: (userId) => bellsOf(userId)?.hints.ring(),
    onAnswer: ({ refused }) => {
      if (refused !== undefined) metrics.deliveryJudged(refused);
    },
  });
  return { server, registrationChanged: (userId) => receiving.forget(userId) };
}
