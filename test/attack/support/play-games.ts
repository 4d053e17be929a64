import { type AttackOptions, type AttackReport, type AttackSize, playInLanes, Tally } from './attack.ts';
import type { GameResult } from './findings.ts';

/** An attack that is one game after another. */
export interface Games {
  /** Played side by side at most; left out: as many as the attack may. */
  readonly lanes?: number;
  /** Whether another one is to begin after so many, where no number of games is asked for. */
  readonly more: (begun: number, tally: Tally) => boolean;
  /** @param index from 0 up; the seed follows it */
  readonly play: (seed: number, index: number) => Promise<GameResult | undefined>;
}

/** Plays as many games as are asked for, else as many as the attack sees fit. */
export async function playGames(options: AttackOptions, games: Games): Promise<AttackReport> {
  const { size, parallel, seed, signal } = options;
  const tally = new Tally(options);
  let begun = 0;
  const wanted = (): boolean =>
    !signal.aborted && (size.games > 0 ? begun < size.games : games.more(begun, tally));
  await playInLanes(Math.min(games.lanes ?? parallel, parallel), wanted, async (index) => {
    begun += 1;
    await tally.play(seed + index, () => games.play(seed + index, index));
  });
  return tally.report();
}

/** How long attacks that repeat rounds do so. */
const ROUNDS_MINUTES = 3;

/** For `more`: until the minutes are over, which begin now; at least so many games. */
export function whileRoundsLast({ minutes = ROUNDS_MINUTES }: AttackSize, least = 1): Games['more'] {
  const until = performance.now() + minutes * 60_000;
  return (begun) => begun < least || performance.now() < until;
}
