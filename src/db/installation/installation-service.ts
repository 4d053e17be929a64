import { isDatabaseDown } from '../connection/sql-state.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { service, type Service } from '@research-mirror/runtime/service';
import type { Hold } from './hold.ts';
import { type InstallationOptions, looksOther, openInstallation } from './installation.ts';
import { LONGEST_GAP, noteSignOfLife } from './sending.ts';

/** Between two looks, milliseconds: after this at most it is noticed that the database went back. */
const LOOK_EVERY = 4_000;
/** Between two signs of life, milliseconds: in a gap of ten minutes submissions may have been sent elsewhere. */
const BEAT_EVERY = 60_000;

/** Watches that the database stays the same one, and writes signs of life. Started before anything is sent. */
export interface Installation extends Service {
  /** As of the last look. */
  hold(): Hold | undefined;
}

export function createInstallation(
  options: InstallationOptions & {
    readonly log: { warn(message: string): void; info(message: string): void };
  },
): Installation {
  const { db, clock, log } = options;
  let hold: Hold | undefined;
  let aliveAt: Date | undefined;
  let lookedAt = { monotonic: Number.NEGATIVE_INFINITY, wall: 0 };

  /** Its monotonic clock and the wall clock agree: it was neither asleep nor set back with its machine. */
  const hasWatched = ({ monotonic, wall }: typeof lookedAt): boolean => {
    const passed = monotonic - lookedAt.monotonic;
    return passed < LONGEST_GAP && Math.abs(wall - lookedAt.wall - passed) < BEAT_EVERY;
  };

  const look = async (signal: AbortSignal): Promise<void> => {
    const now = { monotonic: clock.monotonic(), wall: clock.now() };
    const judged = await openInstallation(options, signal, { aliveAt, watched: hasWatched(now) });
    lookedAt = now;
    ({ aliveAt } = judged);
    noteSignOfLife(db, aliveAt);
    const found = judged.hold;
    if (found !== undefined && hold === undefined) {
      log.warn(
        `what was queued is held: ${found.why}. Where none of it was sent: "research-mirror submissions release"`,
      );
    }
    if (found === undefined && hold !== undefined) log.info('what was held is sent');
    hold = found;
  };

  const running = service('installation', async ({ signal, ready }) => {
    await look(signal);
    ready();
    let failing = false;
    for (let sinceBeat = 0; ;) {
      await clock.sleep(LOOK_EVERY, signal);
      sinceBeat += LOOK_EVERY;
      try {
        if (sinceBeat < BEAT_EVERY && !(await looksOther(db, aliveAt))) continue;
        await look(signal);
        sinceBeat = 0;
        failing = false;
      } catch (error) {
        signal.throwIfAborted();
        // Without signs of life nothing is sent after ten minutes (sending.ts).
        // Where the database is away, the heartbeat warns.
        if (!failing && !isDatabaseDown(error)) log.warn(`installation: ${messageOf(error)}`);
        failing = true;
      }
    }
  });
  return { ...running, hold: () => hold };
}
