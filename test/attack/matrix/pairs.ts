import {
  SANDBOX_SWITCHES,
  type SandboxOptions,
  SWITCH_NAMES,
} from '@research-mirror/sandbox/switches/sandbox-switches';
import { Draw } from '../support/draw.ts';
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
export function pairing(fault: keyof SandboxOptions, index: number, seed: number) {
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
export function pairsOf({ fault, variant }: ReturnType<typeof pairing>): string[] {
  return Object.entries(variant).map(([name, value]) => `${fault} × ${name} ${value}`);
}

export const ALL_PAIRS =
  FAULTS.length * Object.values(VARIANTS).reduce((sum, values) => sum + values.length, 0);
