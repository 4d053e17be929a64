import type { AttackOptions, AttackReport } from './attack.ts';
import type { GameResult } from './findings.ts';
import { playGames } from './play-games.ts';
import { withServer } from './server.ts';

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
  return withServer((server) =>
    playGames(options, {
      lanes: LANES,
      more: (begun) => begun * KILLS_A_LANE < all,
      play: async (seed, index) =>
        play({
          seed,
          kills: Math.min(KILLS_A_LANE, all - index * KILLS_A_LANE),
          url: await server.database(),
          signal: options.signal,
        }),
    }),
  );
}
