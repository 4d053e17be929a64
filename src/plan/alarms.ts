import { HALF_LIFE_MS } from './change-rate.ts';

/**
 * What came of it that a list's own row had changed: such an alarm is true where the reading after it finds a change
 * of the list's items. The older the less it counts, by time and by later alarms. Two numbers in the scope's row.
 */
export interface Alarms {
  readonly trueAlarms: number;
  readonly falseAlarms: number;
}

export const NO_ALARMS: Alarms = { trueAlarms: 0, falseAlarms: 0 };

/**
 * So many alarms count at most: each one makes all before it count less, by one part of that. So however long a row
 * was wrong, three alarms in a row that are true have it believed again; and of one that was always right, forty
 * false ones are enough.
 */
const MOST_ALARMS = 20;

/**
 * A row is believed as long as so large a share of its alarms is true; of each so many are taken to have been true
 * before any was seen: nine false alarms are believed. A fifth: where each alarm is read at once, one change then costs
 * five requests. Whoever asks for more disbelieves lists whose row also changes for other things (a name, a note), and
 * whose changes then wait for their turn.
 */
export const BELIEF = { granted: 2, leastShare: 0.2 } as const;

/**
 * What is known after a reading.
 * @param elapsedMs since the reading before it began
 * @param wasTrue undefined: there was no alarm, or the reading does not say
 */
export function learnAlarm(known: Alarms, elapsedMs: number, wasTrue: boolean | undefined): Alarms {
  const faded = 2 ** (-Math.max(0, elapsedMs) / HALF_LIFE_MS.list);
  const kept = wasTrue === undefined ? faded : faded * (1 - 1 / MOST_ALARMS);
  return {
    trueAlarms: known.trueAlarms * kept + (wasTrue === true ? 1 : 0),
    falseAlarms: known.falseAlarms * kept + (wasTrue === false ? 1 : 0),
  };
}

/** Whether a change of the row is a reason to read the list before others. `isAnnounced` says the same in SQL. */
export function isBelieved({ trueAlarms, falseAlarms }: Alarms): boolean {
  const proven = BELIEF.granted + trueAlarms;
  return proven >= BELIEF.leastShare * (proven + falseAlarms);
}
