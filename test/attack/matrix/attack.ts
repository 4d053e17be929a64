import {
  SANDBOX_SWITCHES,
  type SandboxOptions,
  SWITCH_NAMES,
} from '@research-mirror/sandbox/switches/sandbox-switches';
import { type Attack, playInLanes, Tally } from '../support/attack.ts';
import { Draw } from '../support/draw.ts';
import { play } from '../walks/game/play.ts';
import { type Tables, withTables } from '../walks/game/tables.ts';
import { drawGame, type Game, type Variant, VARIANTS } from '../walks/game/game.ts';

/** Every fault of the sandbox that is thrown by chance: whatever is added there is played here. */
export const FAULTS = SWITCH_NAMES.filter(
  (name) => name.startsWith('fault') && SANDBOX_SWITCHES[name].kind === 'share',
);

/** Part of the requests that meet the fault. */
const SHARE = 0.25;

/** For how long (ms) a cache keeps its copies: through the game, or a little longer than the service may lag. */
const COPIES_MS = [86_400_000, 700] as const;

/** Variants of a fault, so that each order comes with each cursor: 6 and 7 have no common factor. */
export const MANY = VARIANTS.order.length * VARIANTS.cursor.length;

/**
 * Faults that tell a lie which the specification can't unmask: a page from the top that says that it is all there is.
 * Two of them, the grace period apart, are a proof. What guards the rows then is the brake, and it lets ten of them go:
 * so they are played on collections that are larger.
 */
const LIES: ReadonlySet<string> = new Set(['faultEmpty', 'faultRepeated']);

/** The `index`-th variant that a fault is played with. */
function pairing(fault: keyof SandboxOptions, index: number, seed: number) {
  const nth = <T>(values: readonly [T, ...T[]]): T => values[index % values.length] ?? values[0];
  const variant: Variant = {
    order: nth(VARIANTS.order),
    cursor: nth(VARIANTS.cursor),
    hasMore: nth(VARIANTS.hasMore),
    envelope: nth(VARIANTS.envelope),
    ids: nth(VARIANTS.ids),
    deletedList: nth(VARIANTS.deletedList),
    badLimit: nth(VARIANTS.badLimit),
  };
  const drawn = drawGame(seed);
  const draw = new Draw(seed);
  const lies = LIES.has(fault);
  const ofJobs = draw.chance(0.5);
  const switches: Partial<SandboxOptions> = {
    ...drawn.switches,
    ...variant,
    // Pages of one that begin with the cursor's own row lead nowhere.
    maxLimit: Math.max(drawn.switches.maxLimit ?? 1, variant.cursor === 'inclusive' ? 2 : 1),
    ...(lies
      ? {
          jobs: ofJobs ? draw.integer(40, 60) : 0,
          watchlist: ofJobs ? 0 : draw.integer(40, 60),
          bulkJobs: 0,
          lists: 0,
          maxLimit: draw.integer(6, 25),
        }
      : {}),
  };
  const game: Game = {
    ...drawn,
    switches,
    faults: {
      [fault]: SHARE,
      slowMs: 20,
      emptySays: draw.one(['end', 'more']),
      cacheMs: draw.one(COPIES_MS),
    },
    rounds: 3,
    lies,
    busy: lies ? 0.05 : 0.2,
    ...(lies ? { collections: [ofJobs ? ('research_jobs' as const) : ('watchlist' as const)] } : {}),
  };
  return { fault, variant, game };
}

/** `faultEmpty × order falling`, for each value of the variant. */
function pairsOf({ fault, variant }: ReturnType<typeof pairing>): string[] {
  return Object.entries(variant).map(([name, value]) => `${fault} × ${name} ${value}`);
}

const ALL_PAIRS = FAULTS.length * Object.values(VARIANTS).reduce((sum, values) => sum + values.length, 0);

const FIRST_USER = 1_000_000;
/** How often a fault that met no request is played, each time with another seed. */
const TRIES = 3;

export const matrixAttack: Attack = {
  name: 'matrix',
  what: 'every fault of the sandbox with every variant of lists',
  async run(options) {
    const tally = new Tally(options);
    const { parallel, signal } = options;
    const { games } = options.size;
    const count = games > 0 ? games : FAULTS.length * MANY;
    const first = games > 0 ? options.seed % 1_000_000 : 0;
    const numbers = Array.from({ length: count }, (_, index) => first + index);
    await withTables((tables) => playMatrix(tables, tally, numbers, parallel, signal));
    return tally.report();
  },
};

/** Plays games of the matrix by their numbers: all variants of the first fault, then of the next, and again. */
export async function playMatrix(
  tables: Tables,
  tally: Tally,
  games: readonly number[],
  parallel: number,
  signal?: AbortSignal,
): Promise<void> {
  const covered = new Set<string>();
  let begun = 0;
  await playInLanes(
    parallel,
    () => begun < games.length && signal?.aborted !== true,
    async () => {
      const index = games[begun] ?? 0;
      begun += 1;
      const fault = FAULTS[Math.floor(index / MANY) % FAULTS.length];
      if (fault === undefined) return;
      for (let tries = 0; tries < TRIES; tries += 1) {
        const pair = pairing(fault, index % MANY, index + tries * 1_000_003);
        const user = FIRST_USER + index + tries * 100_000;
        const result = await play(tables.of(pair.game), pair.game, user);
        tally.add({ ...result, seed: index });
        if (result.counts[fault] === undefined) continue;
        for (const each of pairsOf(pair)) covered.add(each);
        break;
      }
    },
  );
  tally.counts['pairs'] = covered.size;
  tally.counts['pairs possible'] = ALL_PAIRS;
  tally.notes.push(`${covered.size} of ${ALL_PAIRS} pairs of a fault and a variant's value were met`);
}
