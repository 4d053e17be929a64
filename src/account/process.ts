/** What all accounts of a process share: database, client, budget, observers. Composes them for daemon and commands. */

import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { type Clock, systemClock } from '@research-mirror/runtime/clock';
import { formatSpan } from '@research-mirror/runtime/figures';
import { keyStore } from '@research-mirror/runtime/kept-keys';
import { messageOf } from '@research-mirror/runtime/message';
import { startAll, stopAll } from '@research-mirror/runtime/service';
import type { ServiceConfig } from '../config/config.ts';
import { programVersion } from '../config/program.ts';
import { astrayKept } from '../events/public-url.ts';
import type { RegistrarOptions } from '../events/registrar.ts';
import { LeaseLost } from '../model/errors.ts';
import { KnownPages } from '../model/page.ts';
import { Privacy } from '../model/privacy.ts';
import type { WalkEnded } from '../model/sync-events.ts';
import { wordsOfStep } from '../postgres/clock-step.ts';
import { createHeartbeat, ownIdentity } from '../postgres/heartbeat.ts';
import { openInstallation } from '../postgres/installation.ts';
import { OwnedAccounts } from '../postgres/lease.ts';
import { notePrivacy } from '../postgres/note-privacy.ts';
import { coalesced, createNotifications, type TableChange, wake } from '../postgres/notifications.ts';
import { openMirror, type OpenMirror, type WorkOptions } from '../postgres/open-mirror.ts';
import { ServiceGate } from '../service/service-gate.ts';
import { createTransport } from '../service/transport.ts';
import type { submitter } from '../submissions/submitter.ts';
import type { SyncObserver } from '../sync/reading-context.ts';
import { createSchedule } from '../sync/schedule.ts';
import type { ServiceLink } from './account-keys.ts';
import { type FailureLog, failureLog, logObserver } from './failure-log.ts';
import { readingStarts } from './reading-loops.ts';

/** Items from which a walk is a load, which early garbage collection would slow down. */
const LOAD_ITEMS = 2_000;
/** Items from which a walk is long: it takes minutes at any rate limit, so memory matters more than CPU time. */
const LONG_ITEMS = 200_000;
/** Growth of the old heap before a collection, percent. A program starts with the launcher's OLD_HEAP. */
const GROWS = { else: 30, inLoads: 150 };

/**
 * Has garbage collected early, except during a load. Memory in use does not grow with a collection of the service, but
 * garbage between two garbage collections would double it (bench/memory/README.md, `walks.ts`), and an idle process
 * would keep it.
 * @param setFlags V8's own; this flag takes effect at the next garbage collection
 */
export function walkHeap(setFlags: (flags: string) => void): SyncObserver {
  /** Items so far of each running walk. */
  const items = new Map<string, number>();
  let grows: number | undefined;
  const update = (): void => {
    const counts = [...items.values()];
    const loads = counts.some((count) => count >= LOAD_ITEMS) && counts.every((count) => count < LONG_ITEMS);
    const next = loads ? GROWS.inLoads : GROWS.else;
    if (next !== grows) setFlags(`--heap-growing-percent=${next}`);
    grows = next;
  };
  update();
  const nameOf = ({ scope, kind }: Pick<WalkEnded, 'scope' | 'kind'>): string =>
    `${kind} ${scope.userId} ${scope.collection} ${scope.parent}`;
  return {
    pageWritten(page) {
      items.set(nameOf(page), (items.get(nameOf(page)) ?? 0) + page.items);
      update();
    },
    walkEnded(walk) {
      items.delete(nameOf(walk));
      update();
    },
  };
}

export type MirrorProcess = Awaited<ReturnType<typeof createProcess>>;
/** The parts that the accounts of a process share. */
export type ProcessContext = MirrorProcess['context'];

/** The parts of a process that reads accounts, a daemon's or a command's. `close` ends connections to the service. */
export async function createProcess(
  options: Omit<WorkOptions, 'signal'> & {
    /** Name of the process for others: `start`, `sync`. */
    readonly command: string;
    readonly config: ServiceConfig;
    readonly mirror: OpenMirror;
    readonly clock: Clock;
    readonly failures: FailureLog;
    /** Called after each heartbeat, with the error of a failed one. */
    readonly onBeat?: ((error?: unknown) => void) | undefined;
    readonly onExchange?: ServiceLink['onExchange'];
    readonly onSubmission?: Parameters<typeof submitter>[0]['onDone'];
    readonly onRegistered?: RegistrarOptions['onRegistered'];
    readonly observers: readonly SyncObserver[];
  },
) {
  const { config, mirror, clock, log, scrub, hide, failures } = options;
  const { publicUrl, host, port } = config.webhook;
  const { onExchange = () => {}, onSubmission = () => {}, onRegistered = () => {} } = options;
  await notePrivacy(mirror.db, config, new Date(clock.now()), log);
  const identity = await ownIdentity();
  const processId: string = randomUUID();
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
        log.warn(`account ${userId}: released, since this process owned it but did not work on it`);
      }
    },
  });
  const notifications = createNotifications(mirror.db, clock);
  const wire = createTransport({
    baseUrl: config.service.url,
    clock,
    userAgent: `research-mirror/${version}`,
    proxy: config.proxy,
  });
  /** Without heartbeats the accounts may be lost, so no request is sent (docs/design/ownership.md, "Heartbeat"). */
  const unlessSilent =
    <Given extends unknown[], T>(send: (...given: Given) => T) =>
    (...given: Given): T => {
      if (clock.monotonic() > heartbeat.ownsUntil()) {
        throw new LeaseLost('no heartbeat reached the database in time: requests wait for the next one');
      }
      return send(...given);
    };
  const link: ServiceLink = {
    transport: { ...wire, get: unlessSilent(wire.get), send: unlessSilent(wire.send) },
    known: new KnownPages(),
    privacy: new Privacy(config),
    // Logged once, however many accounts wait.
    gate: new ServiceGate(clock, Math.random, (news) => {
      if (news.state === 'closed')
        log.error(
          `the service is down: ${news.reason}. One request at a time tries it, and mirroring continues by itself once it answers`,
        );
      else log.info(`the service answers again, after ${formatSpan(news.afterMs)}`);
    }),
    share: config.budgetShare,
    isAwaited: () => heartbeat.hasOthers(),
    clock,
    random: Math.random,
    scrub,
    onExchange,
    onBudgetEvent: (keyHash, { kind, group, message }) =>
      log[kind === 'limit-changed' ? 'info' : 'warn'](
        { key: keyHash.slice(0, 8), group, kind },
        `rate limit: ${message}`,
      ),
  };
  const context = {
    config,
    db: mirror.db,
    /** The same connections, bypassing their queue: for taking and releasing accounts, which others wait for. */
    urgentDb: mirror.urgentDb,
    link,
    processId,
    identity,
    log,
    failures,
    /** Read at each event: a command adds one while it runs. */
    observers: [...options.observers, walkHeap(setFlagsFromString)],
    schedule: createSchedule(config),
    owned,
    /** Keys seen by long walks: in the data folder if it is writable, since a temporary folder may be in memory. */
    keys: keyStore({
      folders: [config.dataDir, tmpdir()],
      onLost: (error) =>
        log.warn(
          `the keys that full walks see can't be kept on disk (${messageOf(error)}): rows are mirrored, but deletions wait where ` +
            `the order of a list is not trusted. Free space in ${config.dataDir}, or set MIRROR_DATA_DIR`,
        ),
    }),
    /** Limits how many accounts are opened and readings begun at a time. */
    starts: readingStarts(clock),
    /** `now` is the database's time, not this machine's. */
    clock: {
      now: () => heartbeat.databaseNow(),
      monotonic: () => clock.monotonic(),
      sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal),
    },
    ownsUntil: () => heartbeat.ownsUntil(),
    interruptedAt: () => heartbeat.interruptedAt(),
    hasOthers: () => heartbeat.hasOthers(),
    onChanged: (change: TableChange) => notifications.changed(change),
    /** Called after an account was released; resolves once other daemons are told. Never throws. */
    onReleased: coalesced(() => wake(mirror.urgentDb)),
    /** Keeps a secret that was learnt at run time out of all output. */
    hide,
    onSubmission,
    onRegistered,
    whyAstray:
      publicUrl === undefined ? () => Promise.resolve(undefined) : astrayKept(publicUrl, `${host}:${port}`, clock),
  };
  return { context, heartbeat, notifications, close: (): Promise<void> => wire.close() };
}

/**
 * Runs a command's work as a process that others see by the command's name, with a heartbeat and notifications.
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
