import type { ServiceConfig } from '../../config/config.ts';
import { openInstallation } from '../../db/installation/installation.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { startAll, stopAll } from '@research-mirror/runtime/service';
import { failureLog } from '../failure-log.ts';
import { logObserver } from './log-observer.ts';
import { openMirror, type OpenMirror } from './open-mirror.ts';
import { createProcess, type MirrorProcess, type WorkOptions } from './process.ts';

/**
 * Does a command's work as a process that other processes see: with the mirror open, a heartbeat and notifications.
 * @param command what others see of it: `verify`
 * @throws what keeps it from being done; errors of `work`
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
    // Whether the database went back is found out before anything is written.
    await openInstallation({ db: mirror.db, host: undefined, clock: systemClock }, signal);
    const failures = failureLog(rest.log, systemClock, 'command');
    const observers = [logObserver(rest.log, failures, systemClock)];
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
