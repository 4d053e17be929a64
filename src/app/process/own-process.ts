import type { ServiceConfig } from '../../config/config.ts';
import { openInstallation } from '../../db/installation/installation.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import type { Logger } from '@research-mirror/runtime/logger';
import { startAll, stopAll } from '@research-mirror/runtime/service';
import type { SyncObserver } from '../../sync/reader/observer.ts';
import { logObserver } from './log-observer.ts';
import { openMirror, type OpenMirror } from './open-mirror.ts';
import { createProcess, type MirrorProcess } from './process.ts';

/** What a command that works on accounts is given. */
export interface WorkOptions {
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Takes a secret that was learnt while running: no output shows it then. */
  readonly hide: (secret: string) => void;
  readonly scrub: (text: string) => string;
}

/**
 * Does a command's work as a process that others see: with the mirror open, a heartbeat and notifications.
 * @param command what others see of it: `verify`
 * @throws what keeps it from being done; errors of `work`
 */
export async function asProcess<T>(
  config: ServiceConfig,
  command: string,
  { signal, log, hide, scrub }: WorkOptions,
  observers: readonly SyncObserver[],
  work: (running: MirrorProcess, mirror: OpenMirror) => Promise<T>,
): Promise<T> {
  const clock = systemClock;
  const mirror = await openMirror(config, {
    program: `research-mirror ${command}`,
    clock,
    log,
    signal,
    hide,
  });
  try {
    // Nothing is written into a database that went back before that is known.
    await openInstallation({ db: mirror.db, host: undefined, clock }, signal);
    const running = await createProcess({
      command,
      config,
      mirror,
      clock,
      log,
      scrub,
      hide,
      onExchange: () => {},
      observers: [logObserver(log), ...observers],
    });
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
