import { isDatabaseDown } from '../../db/connection/sql-state.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import { type Service, service } from '@research-mirror/runtime/service';
import type { IndexOutcome } from './index-work.ts';

export interface IndexKeeperOptions {
  /** Makes what is missing or broken, one after another; throws the signal's reason. */
  readonly keep: (signal: AbortSignal) => Promise<readonly IndexOutcome[]>;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: { info(message: string): void; warn(message: string): void };
}

/** After the start (ms): the first pages make columns, and a restart has more urgent things to do. */
const FIRST_MS = 60_000;
const EVERY_MS = 3_600_000;

/** Keeps the optional indexes that operators asked for: looks each hour whether one is missing or was broken off. */
export function indexKeeper({ keep, clock, log }: IndexKeeperOptions): Service {
  return service('optional indexes', async ({ signal, ready }) => {
    ready();
    let said = '';
    for (let wait = FIRST_MS; ; wait = EVERY_MS) {
      await clock.sleep(wait, signal);
      let trouble = '';
      try {
        for (const { name, outcome, error } of await keep(signal)) {
          if (outcome === 'made') log.info(`optional index ${name}: made`);
          if (error !== null) trouble ||= `optional index ${name}: ${error}`;
        }
      } catch (error) {
        signal.throwIfAborted();
        trouble = isDatabaseDown(error) ? said : `optional indexes: ${messageOf(error)}`;
      }
      // Once: it is the same trouble each hour.
      if (trouble !== '' && trouble !== said) log.warn(trouble);
      said = trouble;
    }
  });
}
