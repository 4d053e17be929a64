import type { AttackOptions, AttackReport, GameResult } from './attack.ts';
import { playOnServer } from './server.ts';

/** Kills of one account, before everything is compared. */
const KILLS_A_LANE = 25;
/** Programs that run, and die, side by side: each costs a second of a core to start. */
const LANES = 4;

/** A lane of kills: one account. */
export interface KillsLane {
  readonly seed: number;
  readonly kills: number;
  /** URL of an empty database. */
  readonly url: string;
  /** Gives the rest of it up: nothing is compared then. */
  readonly signal?: AbortSignal;
}

/** Plays lanes until there were as many kills as are asked for, else as many as usual. */
export function playKills(
  options: AttackOptions,
  { usual, play }: { readonly usual: number; readonly play: (lane: KillsLane) => Promise<GameResult> },
): Promise<AttackReport> {
  const { games, kills = usual } = options.size;
  const all = games > 0 ? games * KILLS_A_LANE : kills;
  return playOnServer(options, {
    lanes: LANES,
    more: (begun) => begun * KILLS_A_LANE < all,
    play: (seed, url, index) => {
      const kills = Math.min(KILLS_A_LANE, all - index * KILLS_A_LANE);
      return play({ seed, kills, url, signal: options.signal });
    },
  });
}
