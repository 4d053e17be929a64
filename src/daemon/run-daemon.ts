/** The composition root of the daemon: makes all parts, starts them, stops them in order. */

import { systemClock } from '@research-mirror/runtime/clock';
import { askedAtMost } from '@research-mirror/runtime/asked-at-most';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { countOf, formatSpan } from '@research-mirror/runtime/figures';
import { messageOf } from '@research-mirror/runtime/message';
import { type Service, startAll, stopAll, untilAborted } from '@research-mirror/runtime/service';
import { commandHandler } from '../account/account-command.ts';
import type { AccountService } from '../account/account-service.ts';
import { type AccountRunner, accountsService, type AccountsService } from '../account/accounts-service.ts';
import { commandService } from '../account/commands.ts';
import { failureLog, logObserver } from '../account/failure-log.ts';
import { type PassProgress, sumUp, SYNC } from '../account/pass.ts';
import { createProcess, type ProcessContext } from '../account/process.ts';
import type { Config, ServiceConfig } from '../config/config.ts';
import { CRON_NEVER } from '../config/parse-cron.ts';
import { programVersion } from '../config/program.ts';
import { createEventSink } from '../events/event-store.ts';
import { receivingAccounts } from '../events/receiving-accounts.ts';
import { WEBHOOK_ENDPOINTS } from '../events/service-calls.ts';
import { createWebhookServer } from '../events/webhook-server.ts';
import { arrangeLiveViews } from '../mirror/table-columns.ts';
import { COLLECTIONS } from '../model/collections.ts';
import { Privacy } from '../model/privacy.ts';
import { VERIFY } from '../operate/verify-account.ts';
import type { Db } from '../postgres/db.ts';
import { endpointHost } from '../postgres/fingerprint.ts';
import { createInstallation } from '../postgres/installation.ts';
import { DAEMON } from '../postgres/lease.ts';
import { createWakeups } from '../postgres/notifications.ts';
import * as database from '../postgres/open-mirror.ts';
import { isDatabaseDown } from '../postgres/sql-state.ts';
import type { Exchange } from '../service/api.ts';
import { rateGroup } from '../service/rate-groups.ts';
import { readWorkload, statusReport } from '../status/collect-status.ts';
import { latestRows, newestRows, readRow, searchMirror } from '../status/lookup-store.ts';
import { createMetrics, type Metrics } from '../status/metrics.ts';
import { readiness, WriteHealth } from '../status/readiness.ts';
import { createStatusServer, type Ready, statusToken } from '../status/server.ts';
import type { StatusReport } from '../status/status-report.ts';
import { OPERATIONS } from '../submissions/send-submission.ts';
import { createNotifyReceiver, notifier, problemLog } from './notifier.ts';
import { pauseKeeper } from './pause-keeper.ts';
import { createProblemStore } from './problem-store.ts';
import { startDueWork, startWaitingWork, workFinder } from './work-finder.ts';

/** Every endpoint of the daemon: their counters exist before the first request. */
const KNOWN_ENDPOINTS = [
  ...['/v1/ping', ...COLLECTIONS.map(({ route }) => route)].map((route) => endpointOf({ method: 'GET', route })),
  ...WEBHOOK_ENDPOINTS.map(endpointOf),
  ...Object.values(OPERATIONS).map(({ route }) => endpointOf({ method: 'POST', route })),
];

function endpointOf({ method, route }: Pick<Exchange, 'method' | 'route'>) {
  return { route, group: rateGroup(method, route) };
}

/** Age up to which a report serves the next look for problems, ms. */
const LOOK_AGAIN_MS = 10_000;
/** Least time between two readings of the report's expensive part, ms. */
const WORKLOAD_EVERY_MS = 60_000;

/** Runs the daemon until the signal aborts and it has stopped. @throws Unusable if it can't run, or a defect */
export async function runDaemon(
  config: ServiceConfig,
  options: database.WorkOptions & {
    readonly onProgress?: (progress: PassProgress) => void;
    /** Shows a person a line that must not be in the log; undefined without a terminal. */
    readonly toTerminal?: ((line: string) => void) | undefined;
    /** Called once, when the daemon mirrors and serves its page. */
    readonly onReady?: (address: { readonly statusUrl: string }) => void;
  },
): Promise<void> {
  const { signal, log, hide, scrub, onProgress } = options;
  const clock = systemClock;
  const outside = { signal, log, hide, scrub, clock, command: DAEMON };
  const version = programVersion();
  const metrics = createMetrics(version, KNOWN_ENDPOINTS);
  const begun = clock.monotonic();
  const tellStop = (): void =>
    log.info(
      `research-mirror ${version} stops after ${formatSpan(clock.monotonic() - begun)}, and finishes the pages in hand: ${whatIsMirrored(config)}`,
    );
  signal.addEventListener('abort', tellStop, { once: true });
  let mirror: database.OpenMirror | undefined;
  let accounts: AccountsService | undefined;
  let ownsUntil = (): number => -Infinity;
  let workload: (() => ReturnType<typeof readWorkload>) | undefined;
  let arranged: Promise<void> | undefined;
  const writes = new WriteHealth(log);
  const unreachedYet = 'the database has not been reached or migrated yet';
  let unreached = unreachedYet;
  const ready = async (): Promise<Ready> =>
    mirror === undefined
      ? { ok: false, why: unreached }
      : readiness(mirror.db, writes, clock.monotonic() - ownsUntil());

  const report = async (): Promise<StatusReport> => {
    if (mirror === undefined) throw new Error(unreached);
    const { db, words } = mirror;
    // A daemon that is starting is no problem.
    const now = ownsUntil() === -Infinity || !writes.tried ? undefined : await ready();
    const unready = now?.ok === false ? now.why : undefined;
    const read = (): ReturnType<typeof readWorkload> => readWorkload(db, config);
    workload ??= askedAtMost(clock, read, () => WORKLOAD_EVERY_MS, Infinity);
    return statusReport({ config, db, words, accounts, workload: await workload(), unready });
  };

  const lookUp = async <T>(work: (db: Db) => Promise<T>): Promise<T> => {
    if (mirror === undefined) throw new DatabaseUnavailable(unreached);
    return work(mirror.viewersDb);
  };

  // First the page: while the database can't be reached, it says why.
  const server = createStatusServer({
    host: config.http.host,
    port: config.http.port,
    token: await statusToken(config, hide, log, options.toTerminal),
    metrics,
    clock,
    log,
    ready,
    status: report,
    latestRows: (userId) => lookUp((db) => latestRows(db, userId)),
    lookups: {
      search: (query) => lookUp((db) => searchMirror(db, query)),
      rows: (filter) => lookUp((db) => newestRows(db, filter)),
      row: (address) => lookUp((db) => readRow(db, address)),
    },
  });
  await server.start();
  const looked = askedAtMost(clock, report, () => LOOK_AGAIN_MS);
  // Before the database: its absence is told, too.
  const tellers: Service[] = [];
  const { url, secret, allowPrivate } = config.notify;
  if (url !== undefined && secret !== undefined) {
    const from = { userAgent: `research-mirror/${version}`, proxy: config.proxy };
    const receiver = createNotifyReceiver({ url: url.reveal(), allowPrivate, ...from });
    log.info(`problems are sent to ${receiver.host}`);
    tellers.push(
      notifier({
        report: async () => (mirror === undefined && unreached === unreachedYet ? undefined : looked()),
        store: () => mirror && createProblemStore(mirror.db),
        receiver,
        secret,
        mirror: { schema: config.schema, service: config.service.url, version },
        scrub,
        clock,
        log,
      }),
    );
  }
  const started: Service[] = [server, ...tellers];
  try {
    await startAll(tellers);
    mirror = await database.openMirrorPatiently(config, {
      ...outside,
      onFailure: (error) => {
        unreached = `${unreachedYet}: ${scrub(messageOf(error))}`;
      },
    });
    const failures = failureLog(log, clock, 'daemon', (error) => writes.refused('page', error));
    const shown = onProgress === undefined ? [] : [sumUp(onProgress)];
    const running = await createProcess({
      ...outside,
      config,
      mirror,
      failures,
      onExchange: (exchange) => metrics.requestEnded({ ...exchange, ...endpointOf(exchange) }),
      onSubmission: ({ operation, state }) => metrics.submissionDone(operation, state),
      onRegistered: (userId) => pollAfterRegistration(config, accounts?.runners() ?? [], userId),
      onBeat: (error) => {
        if (error === undefined) writes.wentThrough('heartbeat');
        else writes.refused('heartbeat', error);
      },
      observers: [logObserver(log, failures), metrics, writes.observer, ...shown],
    });
    const { heartbeat, notifications, context } = running;
    ownsUntil = () => heartbeat.ownsUntil();
    const work = new Doorbell();
    accounts = accountsService(context, config.service.keys, () => work.ring());
    const runners = (): readonly AccountRunner[] => accounts?.runners() ?? [];
    const { publicUrl } = config.webhook;
    const listener =
      publicUrl === undefined ? [] : [webhookListener(publicUrl, context, mirror, accounts, metrics, writes)];
    const installation = createInstallation({
      db: mirror.db,
      host: endpointHost(mirror.direct.url, mirror.direct.variables),
      submit: config.submit,
      clock,
      log,
    });
    const commands = new Doorbell();
    // Stopped after the workers, which need them to the end.
    const carriers = [heartbeat, notifications, installation];
    const workers = [
      ...listener,
      accounts,
      pauseKeeper(context, accounts),
      writes.trials(mirror.db, clock),
      database.leftMigrations(config, mirror, outside),
      problemLog(looked, clock, log),
      workFinder(
        () => startDueWork(context, runners()),
        () => startWaitingWork(context, runners()),
        work,
        clock,
        (error) => failures.failed('work', 'looking for work', error),
      ),
      createWakeups({
        connection: mirror.direct,
        schema: config.schema,
        clock,
        log,
        onWake: (isRung) => {
          commands.ring();
          // Without notifications this is called each second; the work finder then looks at its own pace.
          if (isRung) work.ring();
          accounts?.lookAround();
        },
      }),
      commandService({
        db: mirror.db,
        processId: heartbeat.processId,
        bell: commands,
        handlers: {
          [SYNC.name]: commandHandler(SYNC, context, runners),
          [VERIFY.name]: commandHandler(VERIFY, context, runners),
        },
        clock,
        onFailure: (error) => failures.failed('commands', 'commands', error),
      }),
    ];
    try {
      await startAll([...carriers, ...workers]);
      started.push(...carriers, ...workers);
      log.info(
        { url: server.url(), collections: config.collections },
        `research-mirror ${version} is mirroring into ${mirror.words}: ${whatIsMirrored(config)}; status page ${server.url()}`,
      );
      options.onReady?.({ statusUrl: server.url() });
      // Only now, as it takes eight queries per view and nothing waits for it. If the database is away, the heartbeat
      // warns, and the next start arranges the views.
      arranged = arrangeLiveViews(mirror.db).catch((error: unknown) => {
        if (!isDatabaseDown(error)) log.warn(`the columns of views were not reordered: ${messageOf(error)}`);
      });
      const error = await Promise.race([untilAborted(signal), ...started.map((each) => each.ended)]);
      if (error !== undefined && !signal.aborted) throw error;
    } finally {
      // In parallel: each may wait for a request that was sent, and a stop has 8 s for all.
      await Promise.all(workers.map((each) => each.stop()));
      await stopAll(carriers);
      await running.close();
    }
  } finally {
    await stopAll([...tellers, server]);
    await arranged;
    await mirror?.close();
  }
}

function whatIsMirrored({ service, collections }: ServiceConfig): string {
  const all = collections.length === COLLECTIONS.length ? 'all collections' : collections.join(', ');
  return `${all} of ${countOf(service.keys.length, 'API key')} at ${service.url}`;
}

/** Connections for deliveries: each needs one for some milliseconds, and is answered within a second. */
const DELIVERY_CONNECTIONS = 4;

function webhookListener(
  publicUrl: string,
  { config, hide, log, link: { clock } }: ProcessContext,
  mirror: database.OpenMirror,
  accounts: AccountsService,
  metrics: Metrics,
  writes: WriteHealth,
) {
  const db = mirror.beside(DELIVERY_CONNECTIONS);
  const sink = createEventSink(db, config.collections, clock);
  return createWebhookServer({
    ...config.webhook,
    prefix: new URL(publicUrl).pathname.replace(/\/+$/, ''),
    accounts: receivingAccounts({ db, clock, allPinged: () => accounts.allKnown(), hide }),
    privacy: new Privacy(config),
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
    onEvent: (userId) => {
      const runner = accounts.runners().find((each) => each.userId === userId);
      runner?.current()?.bells.hints.ring();
    },
    onAnswer: ({ refused }) => {
      if (refused !== undefined) metrics.deliveryJudged(refused);
    },
  });
}

/**
 * Polls an account after its webhook was registered: no event announced what changed since the last poll. Collections
 * with the cron line `never` are left out.
 */
export function pollAfterRegistration(
  { collections, cron }: Pick<Config, 'collections' | 'cron'>,
  accounts: readonly {
    readonly userId: string;
    current(): { readonly service: Pick<AccountService, 'pollDue'> } | undefined;
  }[],
  userId: string,
): void {
  const account = accounts.find((each) => each.userId === userId)?.current();
  for (const name of collections) {
    if (cron.poll[name] !== CRON_NEVER) account?.service.pollDue(name);
  }
}
