import { HintBucket } from '../../src/sync/hints.ts';
import { mean } from '../support/report.ts';
import type { History, Shape } from './shapes.ts';

/** Decides what the next free request is spent on. */
export interface Reader {
  /**
   * @param walkFirst it is a full walk's turn: no list is read
   * @returns the scope's index; undefined: it is not worth a request
   */
  readonly next: (now: number, walkFirst: boolean) => { readonly scope: number; readonly requests: number } | undefined;
  readonly wasRead?: (reading: FoundChanges) => void;
  /** It hears of events. */
  readonly hints?: boolean;
  /**
   * It reads all rows of the biggest collection once a day: a page at every fourth request, or, as the daemon does, from
   * what polls leave, in turn with lists.
   */
  readonly walksDaily?: 'each fourth' | 'in turn with lists';
}

/** What a reading that began at `now` (ms) found. */
interface FoundChanges {
  readonly scope: number;
  readonly now: number;
  readonly found: number;
  readonly announced: number;
  /** It read the scope, not single rows. */
  readonly whole: boolean;
  /** Requests that the account has. */
  readonly perMinute: number;
}

/** What became of the changes. */
export interface Delays {
  /** Milliseconds until each change of the measured time was mirrored, ascending. */
  readonly delays: Float64Array;
  /** Their mean: exact for what readings without a cause find, whose moments are random, counted for the others. */
  readonly meanMs: number;
  /** The longest time (ms) in which a scope was not read; one that is never read again has waited to the end. */
  readonly oldest: number;
  /** Of the measured time. */
  readonly hintsPerMinute: number;
  readonly requestsPerMinute: number;
}

export interface Run {
  readonly perMinute: number;
  /** Changes of this time (ms) count; it ends where each scope was read after it, or at `untilMs`. */
  readonly from: number;
  readonly to: number;
  readonly untilMs: number;
}

const DAY = 86_400_000;

/** Spends one request after another in virtual time, by a server that frees them evenly. */
export function simulate(shape: Shape, history: History, reader: Reader, run: Run): Delays {
  const { scopes } = shape;
  const { changes, events } = history;
  const slotMs = 60_000 / run.perMinute;
  const found = changes.map((times) => new Uint8Array(times.length));
  const passed = new Int32Array(scopes.length);
  const lastRead = new Float64Array(scopes.length);
  const delays: number[] = [];
  const announcedDelays: number[] = [];
  /** By scope: the sum of delays that changes at a steady rate of 1 a ms would have had. */
  const areas = new Float64Array(scopes.length);
  const withEvent = changes.map((times) => new Uint8Array(times.length));
  for (const { scope, change } of events) (withEvent[scope] as Uint8Array)[change] = 1;
  const hinted = new Map<number, number[]>();
  const bucket = new HintBucket(0);
  let nextEvent = 0;
  let oldest = 0;
  let hintReadings = 0;
  let requests = 0;
  /** Scopes that were not read since the measured time. */
  let left = scopes.length;
  let walkLeft = 0;
  let walkedAt = 0;
  let turn = 0;
  /** Of what comes below polls. */
  let lastWas: 'list' | 'walk' = 'walk';

  const note = (scope: number, change: number, now: number): void => {
    const at = changes[scope]?.[change] ?? 0;
    (found[scope] as Uint8Array)[change] = 1;
    if (at < run.from || at >= run.to) return;
    delays.push(now - at);
    if (withEvent[scope]?.[change] === 1) announcedDelays.push(now - at);
  };
  const addArea = (scope: number, now: number): void => {
    const [from, to] = [Math.max(lastRead[scope] as number, run.from), Math.min(now, run.to)];
    if (to > from) areas[scope] = (areas[scope] as number) + (to - from) * (now - (from + to) / 2);
  };
  const tell = (reading: Omit<FoundChanges, 'perMinute'>): void =>
    reader.wasRead?.({ ...reading, perMinute: run.perMinute });
  /** A whole reading: finds all changes so far. */
  const readScope = (scope: number, now: number): void => {
    const times = changes[scope] as Float64Array;
    const known = hinted.get(scope);
    const announced = new Set(known);
    let count = 0;
    let told = 0;
    let place = passed[scope] as number;
    for (; place < times.length && (times[place] as number) <= now; place += 1) {
      if (found[scope]?.[place] === 1) continue;
      note(scope, place, now);
      count += 1;
      if (announced.has(place)) told += 1;
    }
    passed[scope] = place;
    hinted.delete(scope);
    oldest = Math.max(oldest, now - (lastRead[scope] as number));
    addArea(scope, now);
    if (now >= run.to && (lastRead[scope] as number) < run.to) left -= 1;
    lastRead[scope] = now;
    tell({ scope, now, found: count, announced: told, whole: true });
  };
  const isMeasured = (now: number): boolean => now >= run.from && now < run.to;
  const readHinted = (scope: number, now: number): void => {
    if (isMeasured(now)) hintReadings += 1;
    if (scopes[scope]?.kind === 'list') return readScope(scope, now);
    // Of a collection, the rows that events named.
    const named = (hinted.get(scope) ?? []).filter((change) => found[scope]?.[change] !== 1);
    for (const change of named) note(scope, change, now);
    hinted.delete(scope);
    const count = named.length;
    tell({ scope, now, found: count, announced: count, whole: false });
  };

  let now = 0;
  const spend = (count: number): void => {
    if (isMeasured(now)) requests += count;
    now += slotMs * count;
  };
  const goesOn = (): boolean => now < run.untilMs && left > 0;
  while (goesOn()) {
    for (; nextEvent < events.length && (events[nextEvent]?.at ?? Infinity) <= now; nextEvent += 1) {
      const event = events[nextEvent];
      if (reader.hints !== true || event === undefined || found[event.scope]?.[event.change] === 1) continue;
      hinted.set(event.scope, [...(hinted.get(event.scope) ?? []), event.change]);
    }
    const first = hinted.keys().next().value;
    if (first !== undefined && bucket.tokens(now, run.perMinute) > 0) {
      bucket.spend(1);
      readHinted(first, now);
      spend(1);
      continue;
    }
    if (reader.walksDaily !== undefined && walkLeft === 0 && now - walkedAt >= DAY) {
      walkedAt = now;
      walkLeft = Math.max(...scopes.map(({ pages }) => pages));
    }
    turn += 1;
    const inTurn = reader.walksDaily === 'in turn with lists';
    if (walkLeft > 0 && !inTurn && turn % 4 === 0) {
      walkLeft -= 1;
      spend(1);
      continue;
    }
    const chosen = reader.next(now, walkLeft > 0 && inTurn && lastWas === 'list');
    if (chosen === undefined) {
      lastWas = 'walk';
      if (walkLeft > 0) {
        walkLeft -= 1;
        spend(1);
      } else now += slotMs;
      continue;
    }
    if (scopes[chosen.scope]?.kind === 'list') lastWas = 'list';
    readScope(chosen.scope, now);
    spend(chosen.requests);
  }
  // What was never found counts as found in the end.
  changes.forEach((times, scope) =>
    times.forEach((at, change) => {
      if (at >= run.from && at < run.to && found[scope]?.[change] !== 1) delays.push(run.untilMs - at);
    }),
  );
  scopes.forEach((_, scope) => {
    if ((lastRead[scope] as number) >= run.to) return;
    addArea(scope, run.untilMs);
    oldest = Math.max(oldest, now - (lastRead[scope] as number));
  });
  const rates = scopes.map(({ perHour }) => perHour);
  const total = rates.reduce((sum, rate) => sum + rate, 0);
  const silentMs =
    rates.reduce((sum, rate, scope) => sum + rate * (areas[scope] as number), 0) / (total * (run.to - run.from));
  const announcedShare = reader.hints === true ? 1 - history.lost : 0;
  const announcedMs = announcedShare === 0 ? 0 : mean(announcedDelays);
  const meanMs =
    shape.storm === undefined ? (1 - announcedShare) * silentMs + announcedShare * announcedMs : mean(delays);
  return {
    delays: Float64Array.from(delays).toSorted(),
    meanMs,
    oldest,
    hintsPerMinute: (hintReadings / (run.to - run.from)) * 60_000,
    requestsPerMinute: (requests / (run.to - run.from)) * 60_000,
  };
}
