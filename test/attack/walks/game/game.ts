import type { CollectionName } from '../../../../src/model/collections.ts';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { Draw } from '../../support/draw.ts';
import type { Refusals } from '../../refusals/triggers.ts';
import { STILL } from '@research-mirror/sandbox/testing/sandbox';

/** Everything that is drawn for one game before it begins. */
export interface Game {
  readonly seed: number;
  /** Switches of the service, faults aside. */
  readonly switches: Partial<SandboxOptions>;
  /** Faults that are on until the game's last part. */
  readonly faults: Partial<SandboxOptions>;
  readonly collections: readonly CollectionName[];
  /** Rounds of reading before the quiet. */
  readonly rounds: number;
  /** Share of the requests before which something happens in the source. */
  readonly busy: number;
  /** By how much a replica may lag, ms: less than `gracePeriodMs`. */
  readonly lagMs: number;
  readonly gracePeriodMs: number;
  readonly deletes: 'soft' | 'hard';
  readonly history: boolean;
  /** The service reports a false end, in pages from the top: no client can know that rows are missing. */
  readonly lies: boolean;
  /** What Postgres refuses of its rows, by triggers (`refusals/triggers.ts`); left out: nothing. */
  readonly refusals?: Refusals;
}

export const VARIANTS = {
  order: ['falling', 'rising', 'created', 'last-updated', 'score', 'unordered'],
  cursor: [
    'keyset',
    'position-400',
    'position-404',
    'inclusive',
    'opaque',
    'garbled',
    'unknown-ignored',
    'unknown-empty',
  ],
  hasMore: ['exact', 'full', 'missing'],
  envelope: ['flat', 'nested'],
  ids: ['integer', 'beyond-2^53', 'string', 'uuid', 'uuid-by-time'],
  deletedList: ['404', 'empty'],
  badLimit: ['400', '422', 'clamped'],
} as const satisfies { readonly [Name in keyof SandboxOptions]?: readonly SandboxOptions[Name][] };

export type Variant = { readonly [Name in keyof typeof VARIANTS]: (typeof VARIANTS)[Name][number] };

export function drawVariant(draw: Draw): Variant {
  const drawn = Object.entries(VARIANTS).map(([name, values]) => [name, draw.one<string>(values)]);
  return Object.fromEntries(drawn) as Variant;
}

const COLLECTIONS: readonly (readonly [CollectionName, ...CollectionName[]])[] = [
  ['research_jobs'],
  ['watchlist'],
  ['lists', 'list_items'],
  ['bulk_research_jobs', 'watchlist'],
];

/** A small account on a page of its own size, with a little of every fault that may pass by itself. */
export function drawGame(seed: number, forced: Partial<Game> = {}): Game {
  const draw = new Draw(seed);
  const variant = drawVariant(draw);
  const collections = draw.one(COLLECTIONS) ?? ['research_jobs'];
  const gracePeriodMs = draw.integer(30, 200);
  const rows = (most: number): number => (draw.chance(0.1) ? draw.integer(0, 2) : draw.integer(3, most));
  const stale = draw.chance(0.4) ? draw.random() * 0.3 : 0;
  const errors = draw.chance(0.4) ? 0.02 : 0;
  // Pages of one that begin with the cursor's own row lead nowhere.
  const least = variant.cursor === 'inclusive' ? 2 : 1;
  return {
    seed,
    switches: {
      ...STILL,
      ...variant,
      seed,
      limits: 'off',
      jobSeconds: 1,
      jobs: collections.includes('research_jobs') ? rows(60) : 0,
      bulkJobs: collections.includes('bulk_research_jobs') ? rows(40) : 0,
      lists: collections.includes('lists') ? rows(6) : 0,
      itemsPerList: rows(25),
      watchlist: collections.includes('watchlist') ? rows(60) : 0,
      maxLimit: draw.chance(0.3) ? draw.integer(least, 3) : draw.integer(4, 70),
    },
    faults: {
      faultStale: stale,
      fault500: errors,
      fault503: errors,
      faultReset: errors,
      faultTruncated: errors,
      faultHtml: errors,
      faultGarbage: errors,
      faultError200: errors,
      faultSlow: errors,
      slowMs: 20,
    },
    collections,
    rounds: draw.integer(3, 8),
    busy: draw.one([0.05, 0.2, 0.5, 1]),
    lagMs: Math.floor(gracePeriodMs * 0.8 * draw.random()),
    gracePeriodMs,
    deletes: draw.chance(0.25) ? 'hard' : 'soft',
    history: draw.chance(0.9),
    lies: false,
    ...forced,
  };
}

const isFault = ([name, value]: [string, unknown]): boolean => name.startsWith('fault') && typeof value === 'number';

/** Switches that end the game's faults. */
export function faultsOff({ faults }: Game): Partial<SandboxOptions> {
  return Object.fromEntries(
    Object.entries(faults)
      .filter(isFault)
      .map(([name]) => [name, 0]),
  );
}

/** What was drawn, in a line. */
export function describeGame({ switches, faults, collections, ...game }: Game): string {
  const { jobs, bulkJobs, lists, itemsPerList, watchlist, maxLimit } = switches;
  const rows: Partial<Record<CollectionName, number | undefined>> = {
    research_jobs: jobs,
    bulk_research_jobs: bulkJobs,
    lists,
    list_items: itemsPerList,
    watchlist,
  };
  const on = Object.entries(faults).filter((fault) => isFault(fault) && fault[1] !== 0);
  return [
    Object.keys(VARIANTS)
      .map((name) => switches[name as keyof Variant])
      .join(' '),
    collections.map((name) => `${name} ${rows[name] ?? ''}`).join(', '),
    `pages of ${maxLimit}, ${game.rounds} rounds, busy ${game.busy}`,
    game.refusals && `Postgres refuses ${game.refusals.percent} % of the rows: ${game.refusals.kind}`,
    `settle ${game.gracePeriodMs} ms, lag ${game.lagMs} ms, ${game.deletes} deletes, history ${game.history ? 'on' : 'off'}`,
    on.map(([name, value]) => `${name} ${Number(value).toFixed(2)}`).join(' '),
  ].join('; ');
}
