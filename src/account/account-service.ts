import type { Clock, Random } from '@research-mirror/runtime/clock';
import { isStopped, service } from '@research-mirror/runtime/service';
import { childrenOf, type CollectionName } from '../model/collections.ts';
import { AccountMoved, KeyRefused, LeaseLost, refusesKey } from '../model/errors.ts';
import type { AccountReader } from '../sync/account-reader.ts';
import type { ReadOutcome } from '../sync/walk-result.ts';
import {
  type CollectionLoops,
  collectionLoops,
  type ReadingLoop,
  readingLoops,
  type ReadingStarts,
} from './reading-loops.ts';

/**
 * Runs until the signal aborts. A refused key ends it like all loops of the account, and a good ping restarts it.
 * @throws KeyRefused, LeaseLost; any other error ends the account's service, AccountMoved included
 */
export type Companion = (signal: AbortSignal, follow: Follow) => Promise<never>;

/** Starts the work that a reading needs: second readings of suspects, full walks. */
export type Follow = (outcome: Pick<ReadOutcome, 'suspects' | 'fullWalks'>) => void;

const TIDY_MS = 5_000;
/** Interval of looks for other processes while a key is refused, ms. */
const OTHERS_MS = 1_000;
/** Time after which a run that is still due is restarted unless it is running, ms. */
const BEGIN_AGAIN_MS = { poll: 60_000, full: 300_000 };

export type AccountService = ReturnType<typeof accountService>;
export type AccountServiceOptions = Parameters<typeof accountService>[0];

/** Keeps one account mirrored until it is stopped or another process takes it. */
export function accountService(options: {
  readonly reader: AccountReader;
  readonly collections: readonly CollectionName[];
  /** Work between walks: filling new columns, storing freed slots, pruning. */
  readonly tidy: (signal: AbortSignal) => Promise<void>;
  /** Asks whether the keys are good again. @throws KeyRefused while they are not */
  readonly ping: (signal: AbortSignal) => Promise<void>;
  /** Called when the account's keys are refused or good again. */
  readonly onState: (state: 'active' | 'stopped', reason: Error | undefined) => Promise<void>;
  readonly onFailure: (what: string, error: Error) => void;
  /** Whether other processes live, which may have a good key: a refused key then ends the service. Default: none. */
  readonly hasOthers?: () => boolean;
  /** Loops that run and end with the account's own; default none. */
  readonly companions?: readonly Companion[];
  /** Shared with other accounts of the process; left out: readings begin at once. */
  readonly starts?: ReadingStarts;
  readonly clock: Clock;
  readonly random: Random;
}) {
  const { reader, collections, companions = [], clock, random, starts, onState, onFailure } = options;
  const follow: Follow = ({ suspects, fullWalks }) => {
    for (const name of suspects) ring(name, 'suspects');
    for (const name of fullWalks) ring(name, 'full');
  };
  const loops = readingLoops({ clock, random, starts, onOutcome: follow, onFailure });
  const loopsOf = new Map(
    collections.map((name) => {
      const ringChildren = (): void => {
        for (const child of childrenOf(name)) ring(child.name, 'due');
      };
      return [name, collectionLoops(name, reader, clock, loops, ringChildren)];
    }),
  );
  const ring = (name: CollectionName, which: keyof CollectionLoops): void => loopsOf.get(name)?.[which].ring();

  /** Started runs: their moment and the time of the start. */
  const begun = new Map<ReadingLoop, { readonly moment: number; readonly at: number }>();

  const tidyLoop = async (signal: AbortSignal): Promise<never> => {
    for (;;) {
      try {
        await options.tidy(signal);
      } catch (error) {
        if (signal.aborted || error instanceof LeaseLost || error instanceof KeyRefused) throw error;
        onFailure('tidying', error as Error);
      }
      await clock.sleep(TIDY_MS, signal);
    }
  };

  /** Waits until a key is good again. @throws the refusal if another process may have a good one */
  const untilGood = async (refusal: KeyRefused, signal: AbortSignal): Promise<void> => {
    await onState('stopped', refusal);
    for (let tries = 0; ; tries += 1) {
      for (const until = clock.monotonic() + refusedKeyWait(tries); ;) {
        if (options.hasOthers?.() === true) throw refusal;
        const leftMs = until - clock.monotonic();
        if (leftMs <= 0) break;
        await clock.sleep(Math.min(OTHERS_MS, leftMs), signal);
      }
      try {
        await options.ping(signal);
      } catch (error) {
        const isFinal = error instanceof LeaseLost || error instanceof AccountMoved;
        if (signal.aborted || isStopped(error) || isFinal) throw error;
        if (!(error instanceof KeyRefused)) onFailure('ping', error as Error);
        continue;
      }
      // If this can't be stored, the service ends, and the account is reopened before the next ping.
      await onState('active', undefined);
      return;
    }
  };

  const running = service(`account ${reader.userId}`, async ({ signal, ready }) => {
    const beside = [...companions.map((run) => (end: AbortSignal) => run(end, follow)), tidyLoop];
    for (;;) {
      begun.clear();
      for (const name of collections) {
        ring(name, 'poll');
        // Suspects of the previous run.
        ring(name, 'suspects');
      }
      ready();
      try {
        await loops.run(signal, beside);
      } catch (error) {
        if (signal.aborted || !refusesKey(error)) throw error;
        await untilGood(error, signal);
      }
    }
  });

  return {
    ...running,
    pollDue: (name: CollectionName) => ring(name, 'poll'),
    /**
     * Starts the run of that moment, at once or after the current one, and restarts it if it came to nothing. Called
     * repeatedly until the next run is another.
     */
    runDue(name: CollectionName, what: 'poll' | 'full', moment: Date): void {
      const loop = loopsOf.get(name)?.[what];
      if (loop === undefined || loop.state !== 'rests') return;
      const last = begun.get(loop);
      const now = clock.monotonic();
      if (last?.moment === moment.getTime() && now - last.at < BEGIN_AGAIN_MS[what]) return;
      begun.set(loop, { moment: moment.getTime(), at: now });
      loop.ring();
    },
  };
}

/**
 * Delay before the next ping of a refused key, ms (docs/design/ownership.md, "Refused keys").
 * @param refusals number of earlier refusals
 */
export function refusedKeyWait(refusals: number): number {
  return [30_000, 60_000, 300_000][refusals] ?? 900_000;
}
