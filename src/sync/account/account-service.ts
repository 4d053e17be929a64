import { collection, type CollectionName } from '../../model/collections.ts';
import { AccountMoved, KeyRefused, LeaseLost, refusesKey, ServiceDown } from '../../model/errors.ts';
import type { Clock, Random } from '@research-mirror/runtime/clock';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { isStopped, type Service, service } from '@research-mirror/runtime/service';
import type { AccountReader } from './account-reader.ts';
import type { ReadOutcome } from './read-outcome.ts';
import type { ReadingStarts } from './reading-starts.ts';

export interface AccountServiceOptions {
  readonly reader: AccountReader;
  readonly collections: readonly CollectionName[];
  /** Work between walks: filling new columns, storing freed slots, forgetting old log rows. */
  readonly tidy: (signal: AbortSignal) => Promise<void>;
  /** Asks whether the keys are good again. @throws KeyRefused while they are not */
  readonly ping: (signal: AbortSignal) => Promise<void>;
  /** The account's keys are refused, or good again. */
  readonly onState: (state: 'active' | 'stopped', reason: Error | undefined) => Promise<void>;
  readonly onFailure: (what: string, error: Error) => void;
  /**
   * Whether other processes live, which may have a good key: a refused one then ends the account's service. Left out:
   * there are none.
   */
  readonly hasOthers?: () => boolean;
  /** More loops that run and end with the account's own; default none. */
  readonly companions?: readonly Companion[];
  /** Shared with other accounts of the process; left out: readings begin at once. */
  readonly starts?: ReadingStarts;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Runs until the signal aborts. A refused key ends it like all loops of the account, and the ping begins it again.
 * @throws KeyRefused, LeaseLost; any other error ends the account's service, AccountMoved among them
 */
export type Companion = (signal: AbortSignal, follow: Follow) => Promise<never>;

/** Has done what a reading asks for: second readings of suspects, full walks. */
export type Follow = (outcome: Pick<ReadOutcome, 'suspects' | 'fullWalks'>) => void;

/** The running account: what its schedule, its commands and its hints ring. */
export interface AccountService extends Service {
  readonly reader: AccountReader;
  pollDue(name: CollectionName): void;
  /**
   * The run of that moment is due. Call it again and again until the next run is another: it begins the run at once,
   * or after one that is under way, and begins it again where it came to nothing.
   */
  runDue(name: CollectionName, what: 'poll' | 'full', moment: Date): void;
}

/** Waits (ms) before what failed is tried again: doubling, with jitter. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_POLL_RETRY_MS = 30_000;
/** A full walk goes on where it failed, so a try costs a request or two; nobody announces the end of an outage. */
const LONGEST_FULL_RETRY_MS = 300_000;
const TIDY_MS = 5_000;
/** How often (ms) to look whether other processes live, while a key is refused. */
const OTHERS_MS = 1_000;
/**
 * Children that are due are looked for so long (ms) after the last time, though a poll found no change of their parents:
 * some were left to rest after a failure, or made due by an event. Cron lines poll once a minute at most.
 */
const RING_AGAIN_MS = 30_000;
/** A run that is still due this long (ms) after it was begun is begun again, unless it is under way. */
const BEGIN_AGAIN_MS = { poll: 60_000, full: 300_000 };

/** Keeps one account mirrored until it is stopped, or until it is somebody else's. */
export function accountService(options: AccountServiceOptions): AccountService {
  const { reader, clock, random, starts } = options;
  const bells = new Map(
    options.collections.map((name) => [
      name,
      {
        poll: new Doorbell(),
        rows: new Doorbell(),
        full: new Doorbell(),
        due: new Doorbell(),
        suspects: new Doorbell(),
      },
    ]),
  );
  const ring = (name: CollectionName, which: 'poll' | 'rows' | 'full' | 'due' | 'suspects'): void =>
    bells.get(name)?.[which].ring();

  const follow: Follow = ({ suspects, fullWalks }) => {
    for (const name of suspects) ring(name, 'suspects');
    for (const name of fullWalks) ring(name, 'full');
  };

  /** Loops that read, or wait to try again what failed. */
  const busy = new Map<string, 'reads' | 'waits'>();
  /** Runs that were begun: for which moment, and when. */
  const begun = new Map<string, { readonly moment: number; readonly at: number }>();

  const runDue: AccountService['runDue'] = (name, what, moment) => {
    const loopName = LOOP_OF[what](name);
    if (busy.has(loopName)) return;
    const last = begun.get(loopName);
    const now = clock.monotonic();
    if (last?.moment === moment.getTime() && now - last.at < BEGIN_AGAIN_MS[what]) return;
    begun.set(loopName, { moment: moment.getTime(), at: now });
    ring(name, what);
  };

  /** Repeats `act` at each ring; what fails is tried again, later and later. */
  const loop = async (
    what: string,
    bell: Doorbell,
    longestRetry: number,
    act: () => Promise<ReadOutcome>,
    signal: AbortSignal,
  ): Promise<never> => {
    let failures = 0;
    for (;;) {
      if (failures === 0) busy.delete(what);
      await bell.heard(signal);
      busy.set(what, 'reads');
      let error: Error | undefined;
      try {
        const outcome = await (starts?.begin(act, signal) ?? act());
        ({ error } = outcome);
        follow(outcome);
      } catch (thrown) {
        if (signal.aborted || thrown instanceof LeaseLost || thrown instanceof KeyRefused) throw thrown;
        error = thrown instanceof Error ? thrown : new Error(String(thrown));
      }
      signal.throwIfAborted();
      failures = error === undefined ? 0 : failures + 1;
      if (error === undefined) continue;
      options.onFailure(what, error);
      busy.set(what, 'waits');
      // What waits at the service's gate costs no request, and begins as soon as the service is back.
      const longest = error instanceof ServiceDown ? LONGEST_POLL_RETRY_MS : longestRetry;
      const bound = Math.min(longest, FIRST_RETRY_MS * 2 ** failures);
      await clock.sleep(bound * (0.5 + random() / 2), signal);
      bell.ring();
    }
  };

  const loopsOf = (name: CollectionName, signal: AbortSignal): Promise<never>[] => {
    const bell = bells.get(name);
    if (bell === undefined) return [];
    const children = options.collections.filter((each) => isChild(each, name));
    let rungAt = Number.NEGATIVE_INFINITY;
    const ringChildren = (): void => {
      rungAt = clock.monotonic();
      for (const child of children) ring(child, 'due');
    };
    const poll = async (): Promise<ReadOutcome> => {
      // What a poll wrote before it threw has made children due, too.
      let changes = 1;
      try {
        const outcome = await reader.read(name, { what: 'poll', scheduled: true, signal });
        changes = outcome.totals.inserted + outcome.totals.updated;
        // A full reading that is about to begin will do.
        const begins = bell.full.rung || busy.get(LOOP_OF.full(name)) === 'waits';
        if (outcome.fullNeeded && !begins) ring(name, 'rows');
        return outcome;
      } finally {
        if (changes > 0 || clock.monotonic() - rungAt >= RING_AGAIN_MS) ringChildren();
      }
    };
    const all = (what: 'full' | 'rows') => async (): Promise<ReadOutcome> => {
      const outcome = await reader.read(name, { what, signal });
      ringChildren();
      return outcome;
    };
    const due = (): Promise<ReadOutcome> => reader.readDue(name, signal);
    let wait = new AbortController();
    /** Rings again when the next suspects are due; a ring before that ends the wait. */
    const confirmDeletions = async (): Promise<ReadOutcome> => {
      wait.abort();
      wait = new AbortController();
      const outcome = await reader.confirmDeletions(name, signal);
      if (outcome.againMs !== undefined) {
        const over = AbortSignal.any([signal, wait.signal]);
        clock.sleep(outcome.againMs, over).then(bell.suspects.ring.bind(bell.suspects), () => {});
      }
      return outcome;
    };
    return [
      loop(LOOP_OF.poll(name), bell.poll, LONGEST_POLL_RETRY_MS, poll, signal),
      loop(LOOP_OF.full(name), bell.full, LONGEST_FULL_RETRY_MS, all('full'), signal),
      loop(`reading of all ${name}`, bell.rows, LONGEST_FULL_RETRY_MS, all('rows'), signal),
      loop(`reading of changed ${name}`, bell.due, LONGEST_POLL_RETRY_MS, due, signal),
      loop(`second reading of ${name}`, bell.suspects, LONGEST_FULL_RETRY_MS, confirmDeletions, signal),
    ];
  };

  const tidyLoop = async (signal: AbortSignal): Promise<never> => {
    for (;;) {
      try {
        await options.tidy(signal);
      } catch (error) {
        if (signal.aborted || error instanceof LeaseLost) throw error;
        options.onFailure('tidying', error as Error);
      }
      await clock.sleep(TIDY_MS, signal);
    }
  };

  /** All loops side by side; the first that ends (it can only throw) ends them all. */
  const runLoops = async (stop: AbortSignal): Promise<void> => {
    const broken = new AbortController();
    const signal = AbortSignal.any([stop, broken.signal]);
    const companions = (options.companions ?? []).map((run) => run(signal, follow));
    const readings = options.collections.flatMap((name) => loopsOf(name, signal));
    const loops = [...readings, ...companions, tidyLoop(signal)];
    for (const each of loops) each.catch((error: unknown) => broken.abort(error));
    const ended = await Promise.allSettled(loops);
    stop.throwIfAborted();
    const cause = ended
      .map((each) => (each.status === 'rejected' ? (each.reason as unknown) : undefined))
      .find((reason) => reason instanceof LeaseLost || reason instanceof KeyRefused);
    throw cause ?? broken.signal.reason;
  };

  /** @throws the refusal, as soon as other processes live */
  const waitAlone = async (ms: number, refusal: KeyRefused, signal: AbortSignal): Promise<void> => {
    const until = clock.monotonic() + ms;
    for (;;) {
      if (options.hasOthers?.() === true) throw refusal;
      const leftMs = until - clock.monotonic();
      if (leftMs <= 0) return;
      await clock.sleep(Math.min(OTHERS_MS, leftMs), signal);
    }
  };

  /** Waits until a key is good again. @throws the refusal, where another process may have a good one */
  const untilGood = async (refusal: KeyRefused, signal: AbortSignal): Promise<void> => {
    await options.onState('stopped', refusal);
    for (let tries = 0; ; tries += 1) {
      await waitAlone(refusedKeyWait(tries), refusal, signal);
      try {
        await options.ping(signal);
      } catch (error) {
        const isFinal = error instanceof LeaseLost || error instanceof AccountMoved;
        if (signal.aborted || isStopped(error) || isFinal) throw error;
        if (!(error instanceof KeyRefused)) options.onFailure('ping', error as Error);
        continue;
      }
      // Where this can't be stored the service ends, and the account is soon opened again: sooner than the next ping.
      await options.onState('active', undefined);
      return;
    }
  };

  /** As at a start: nothing is under way. */
  const ringAll = (): void => {
    busy.clear();
    begun.clear();
    for (const name of options.collections) {
      ring(name, 'poll');
      // Suspects of the last run.
      ring(name, 'suspects');
    }
  };

  const running = service(`account ${reader.userId}`, async ({ signal, ready }) => {
    ringAll();
    ready();
    for (;;) {
      try {
        await runLoops(signal);
      } catch (error) {
        if (signal.aborted || !refusesKey(error)) throw error;
        await untilGood(error, signal);
        ringAll();
      }
    }
  });

  return {
    ...running,
    reader,
    pollDue: (name) => ring(name, 'poll'),
    runDue,
  };
}

/** What logs call the loops. */
const LOOP_OF = {
  poll: (name: CollectionName): string => `poll of ${name}`,
  full: (name: CollectionName): string => `full walk of ${name}`,
};

function isChild(child: CollectionName, name: CollectionName): boolean {
  const found = collection(child);
  return found.kind === 'list' && found.parent?.collection === name;
}

/**
 * How long (ms) a refused key is left alone before each ping (docs/design/ownership.md, "Refused keys"); the last one
 * repeats.
 */
const WAITS_MS = [30_000, 60_000, 300_000] as const;
const LONGEST_WAIT_MS = 900_000;

/** @param refusals how often it was refused before this time @returns milliseconds */
export function refusedKeyWait(refusals: number): number {
  return WAITS_MS[refusals] ?? LONGEST_WAIT_MS;
}
