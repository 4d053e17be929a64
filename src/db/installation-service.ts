import { messageOf } from '../runtime/message.ts';
import { service, type Service } from '../runtime/service.ts';
import type { Hold } from './hold.ts';
import { beatInstallation, openInstallation, type InstallationOptions } from './installation.ts';

/** Milliseconds; a gap of ten minutes is one in which submissions may have been sent elsewhere. */
const BEAT_EVERY = 60_000;

/** The database is this one, and a daemon keeps it company: started before anything is sent. */
export interface Installation extends Service {
  /** As of the last beat. */
  hold(): Hold | undefined;
}

export function createInstallation(
  options: InstallationOptions & {
    readonly log: { warn(message: string): void; info(message: string): void };
  },
): Installation {
  const { db, schema, clock, log } = options;
  let hold: Hold | undefined;

  const learn = (found: Hold | undefined): void => {
    if (found !== undefined && hold === undefined) {
      log.warn(
        `submissions are held: ${found.why}. Where none of them was sent: "research-mirror submissions release"`,
      );
    }
    if (found === undefined && hold !== undefined) log.info('submissions are sent again');
    hold = found;
  };

  const running = service('installation', async ({ signal, ready }) => {
    learn(await openInstallation(options, signal));
    ready();
    let failing = false;
    for (;;) {
      await clock.sleep(BEAT_EVERY, signal);
      try {
        learn(await beatInstallation(db, schema));
        failing = false;
      } catch (error) {
        // Without beats nothing is sent after ten minutes (hold.ts).
        if (!failing) log.warn(`installation: ${messageOf(error)}`);
        failing = true;
      }
    }
  });
  return { ...running, hold: () => hold };
}
