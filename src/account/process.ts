import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { type GateNews, ServiceGate } from '../service/service-gate.ts';
import { KnownPages } from '../model/known-pages.ts';
import { createTransport } from '../service/transport.ts';
import type { ServiceConfig } from '../config/config.ts';
import { createHeartbeat, ownIdentity } from '../postgres/heartbeat.ts';
import { notePrivacy } from '../postgres/note-privacy.ts';
import { openInstallation } from '../postgres/installation.ts';
import { coalesced, createNotifications, wake } from '../postgres/notifications.ts';
import { wordsOfStep } from '../postgres/clock-step.ts';
import { OwnedAccounts } from '../postgres/lease.ts';
import { Privacy } from '../model/privacy.ts';
import { LeaseLost } from '../model/errors.ts';
import { type Clock, systemClock } from '@research-mirror/runtime/clock';
import { formatSpan } from '@research-mirror/runtime/figures';
import { keyStore, type KeyStore } from '@research-mirror/runtime/kept-keys';
import { startAll, stopAll } from '@research-mirror/runtime/service';
import { messageOf } from '@research-mirror/runtime/message';
import type { Logger } from '@research-mirror/runtime/logger';
import { readingStarts } from './loops.ts';
import type { SyncObserver } from '../sync/reading-context.ts';
import { type FailureLog, failureLog, logObserver } from './failure-log.ts';
import type { ProcessContext } from './account.ts';
import { createSchedule } from '../sync/schedule.ts';
import type { ServiceLink } from './account-keys.ts';
import { openMirror, type OpenMirror, type WorkOptions } from '../postgres/open-mirror.ts';
import { programVersion } from '../config/program.ts';
import { astrayKept } from '../events/public-url.ts';

/** Items of a walk from which it is a load, which early garbage collection would slow down. */
const LOAD_ITEMS = 2_000;
/** Items of a walk from which it is long: it takes minutes at any rate limit, so memory matters more than CPU time. */
const LONG_ITEMS = 200_000;
/** Growth of the old heap before a collection, percent. A program starts with the launcher's OLD_HEAP. */
const GROWS = { else: 30, inLoads: 150 };

/**
 * Has garbage collected early, except during a load. Memory in use does not grow with a collection of the service, but
 * garbage between two garbage collections would double it (bench/README.md, `memory/walks.ts`), and an idle process
 * would keep it.
 * @param setFlags V8's own; this flag takes effect at the next garbage collection
 */
export function walkHeap(setFlags: (flags: string) => void): SyncObserver {
  /** Items so far of each running walk. */
  const items = new Map<string, number>();
  let loads = false;
  const set = (): void => setFlags(`--heap-growing-percent=${loads ? GROWS.inLoads : GROWS.else}`);
  const judge = (): void => {
    const counts = [...items.values()];
    const now = counts.some((count) => count >= LOAD_ITEMS) && counts.every((count) => count < LONG_ITEMS);
    if (now === loads) return;
    loads = now;
    set();
  };
  set();
  return {
    pageWritten({ scope, kind, items: count }) {
      const walk = `${kind} ${scope.userId} ${scope.collection} ${scope.parent}`;
      items.set(walk, (items.get(walk) ?? 0) + count);
      judge();
    },
    walkEnded({ scope, kind }) {
      items.delete(`${kind} ${scope.userId} ${scope.collection} ${scope.parent}`);
      judge();
    },
  };
}

interface ProcessOptions
  extends
    Omit<WorkOptions, 'signal'>,
    Partial<Pick<ProcessContext, 'onSubmission' | 'onRegistered'>>,
    Partial<Pick<ServiceLink, 'onExchange'>> {
  /** `start`, `sync`: the process's name for others. */
  readonly command: string;
  readonly config: ServiceConfig;
  readonly mirror: OpenMirror;
  readonly clock: Clock;
  readonly failures: FailureLog;
  /** A heartbeat was written or failed. */
  readonly onBeat?: ((error?: unknown) => void) | undefined;
  readonly observers: readonly SyncObserver[];
}

export type MirrorProcess = Awaited<ReturnType<typeof createProcess>>;

/** The parts of a process that reads accounts, a daemon's or a command's. `close` ends connections to the service. */
export async function createProcess(options: ProcessOptions) {
  const { config, mirror, clock, log } = options;
  await notePrivacy(mirror.db, config, new Date(clock.now()), log);
  const { publicUrl } = config.webhook;
  const identity = await ownIdentity();
  const processId = randomUUID();
  const version = programVersion();
  const owned = new OwnedAccounts();
  const heartbeat = createHeartbeat({
    db: mirror.heartbeatDb,
    processId,
    identity,
    command: options.command,
    version,
    clock,
    onBeat: options.onBeat,
    log,
    onClockStep: (byMs) => {
      log.warn(`${wordsOfStep(byMs)}: accounts are opened again`);
      // Not awaited, since a heartbeat must not be late. The account's next transaction notices a failure.
      owned.reopen(mirror.db).catch((error: unknown) => log.warn(messageOf(error)));
    },
    afterBeat: async () => {
      for (const userId of await owned.releaseStrays(mirror.heartbeatDb, processId)) {
        log.warn(`account ${userId}: named this process as its owner, which does not work on it: given up`);
      }
    },
  });
  const wakeOthers = coalesced(() => wake(mirror.urgentDb));
  const notifications = createNotifications(mirror.db, clock);
  const keys = walkKeys(config.dataDir, log);
  const wire = createTransport({
    baseUrl: config.service.url,
    clock,
    userAgent: `research-mirror/${version}`,
    proxy: config.proxy,
  });
  /** Without heartbeats the accounts may be lost, so no request is sent (docs/design/ownership.md, "Heartbeat"). */
  const throwIfSilent = (): void => {
    if (clock.monotonic() > heartbeat.ownsUntil()) {
      throw new LeaseLost('no heartbeat reached the database in time: requests wait for it');
    }
  };
  const context: ProcessContext = {
    config,
    db: mirror.db,
    urgentDb: mirror.urgentDb,
    processId,
    identity,
    log,
    failures: options.failures,
    observers: [...options.observers, walkHeap(setFlagsFromString)],
    onChanged: (change) => notifications.changed(change),
    schedule: createSchedule(config),
    clock: {
      now: () => heartbeat.databaseNow(),
      monotonic: () => clock.monotonic(),
      sleep: (ms, signal) => clock.sleep(ms, signal),
    },
    ownsUntil: () => heartbeat.ownsUntil(),
    interruptedAt: () => heartbeat.interruptedAt(),
    hasOthers: () => heartbeat.hasOthers(),
    onReleased: wakeOthers,
    keys,
    owned,
    starts: readingStarts(clock),
    hide: options.hide,
    onSubmission: options.onSubmission ?? (() => {}),
    onRegistered: options.onRegistered ?? (() => {}),
    whyAstray:
      publicUrl === undefined
        ? () => Promise.resolve(undefined)
        : astrayKept(publicUrl, `${config.webhook.host}:${config.webhook.port}`, clock),
    link: {
      transport: {
        ...wire,
        get: (path, key, signal, asked) => {
          throwIfSilent();
          return wire.get(path, key, signal, asked);
        },
        send: (request) => {
          throwIfSilent();
          return wire.send(request);
        },
      },
      known: new KnownPages(),
      privacy: new Privacy(config),
      gate: new ServiceGate(clock, Math.random, (news) => tellGate(log, news)),
      share: config.budgetShare,
      isAwaited: () => heartbeat.hasOthers(),
      clock,
      random: Math.random,
      scrub: options.scrub,
      onExchange: options.onExchange ?? (() => {}),
      onBudgetEvent: (keyHash, { kind, group, message }) =>
        log[kind === 'limit-changed' ? 'info' : 'warn'](
          { key: keyHash.slice(0, 8), group, kind },
          `rate limit: ${message}`,
        ),
    },
  };
  return { context, heartbeat, notifications, close: (): Promise<void> => wire.close() };
}

/**
 * Runs a command's work as a process that others see, with the mirror open, a heartbeat and notifications.
 * @param command its name for others: `verify`
 * @throws errors of opening the mirror and of `work`
 */
export async function asProcess<T>(
  config: ServiceConfig,
  command: string,
  options: WorkOptions,
  work: (running: MirrorProcess, mirror: OpenMirror) => Promise<T>,
): Promise<T> {
  const { signal, ...rest } = options;
  const outside = { ...rest, command, clock: systemClock };
  const mirror = await openMirror(config, { ...outside, signal });
  try {
    // Detects that the database went back before anything is written.
    await openInstallation({ db: mirror.db, host: undefined, clock: systemClock }, signal);
    const failures = failureLog(rest.log, systemClock, 'command');
    const observers = [logObserver(rest.log, failures)];
    const running = await createProcess({ ...outside, config, mirror, failures, observers });
    const services = [running.heartbeat, running.notifications];
    await startAll(services);
    try {
      return await work(running, mirror);
    } finally {
      await stopAll(services);
      await running.close();
    }
  } finally {
    await mirror.close();
  }
}

/**
 * The store in which walks keep the keys of long lists: in the data folder, since a temporary folder may be in memory,
 * or in the temporary folder if the data folder is not writable.
 */
function walkKeys(dataDir: string, log: Logger): KeyStore {
  return keyStore({
    folders: [dataDir, tmpdir()],
    onLost: (error) =>
      log.warn(
        `what a full walk saw can't be kept on disk (${messageOf(error)}): rows are mirrored, and deletions wait where ` +
          `the order of a list is not trusted; make room in ${dataDir}, or set MIRROR_DATA_DIR`,
      ),
  });
}

/** Logged once, however many accounts wait. */
function tellGate(log: Logger, news: GateNews): void {
  if (news.state === 'closed') {
    log.error(
      `the service is down: ${news.reason}; one request at a time tries it, and mirroring goes on by itself as soon as it answers`,
    );
  } else log.info(`the service answers again, after ${formatSpan(news.afterMs)}`);
}
