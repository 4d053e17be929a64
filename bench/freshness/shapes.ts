import { exponential, seeded } from '../../test/support/random.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How often (ms) a cron line reads a collection, and all lists. */
export const LINE_MS = MINUTE;

/** What a reading covers: an account's collection, or one list's items. */
export interface ShapeScope {
  readonly kind: 'collection' | 'list';
  /** Changes that a reading finds (new rows, changes of unfinished rows; of a list: any), an hour. */
  readonly perHour: number;
  /** Requests of a reading. */
  readonly cost: number;
  /** Pages of all its rows. */
  readonly pages: number;
  /** How often (ms) it is read at least. */
  readonly longestMs: number;
}

/** An account as the simulation knows it. */
export interface Shape {
  readonly name: string;
  readonly scopes: readonly ShapeScope[];
  /** Mean delay (ms) without webhook that is promised. */
  readonly boundMs: number;
  /** Some scopes change so many times as often for a while. */
  readonly storm?: {
    readonly from: number;
    readonly to: number;
    readonly scopes: number;
    readonly times: number;
  };
}

const collection = (perHour: number, pages = 1, cost = 1): ShapeScope => ({
  kind: 'collection',
  perHour,
  cost,
  pages,
  longestMs: DAY,
});

/** Lists of one account differ by orders of magnitude: a log-normal distribution. */
function lists(count: number, medianPerDay: number, sigma: number, seed: number): ShapeScope[] {
  const random = seeded(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Array.from({ length: count }, () => ({
    kind: 'list',
    perHour: (medianPerDay / 24) * Math.exp(sigma * normal()),
    cost: 1,
    pages: 1,
    longestMs: DAY,
  }));
}

export const SHAPES: readonly Shape[] = [
  {
    name: 'a few big collections',
    boundMs: 12_000,
    scopes: [
      collection(60, 200, 2),
      collection(4, 10),
      collection(2),
      collection(12, 20),
      collection(20),
      ...lists(10, 5, 1, 1),
    ],
  },
  {
    name: '5,000 lists',
    boundMs: 45 * MINUTE,
    scopes: [
      collection(20, 20),
      collection(2),
      collection(5, 10),
      collection(2),
      collection(10),
      ...lists(5000, 0.15, 1.7, 2),
    ],
  },
  {
    name: 'now and then',
    boundMs: 12_000,
    scopes: [collection(12, 10), collection(4), collection(2), collection(1), collection(0.1), ...lists(10, 0.5, 1, 6)],
  },
  {
    name: 'quiet',
    boundMs: 32_000,
    scopes: [
      collection(0.1, 20),
      collection(0.02),
      collection(0.01),
      collection(0.02),
      collection(0.1),
      ...lists(10, 0.1, 1, 3),
    ],
  },
  {
    name: 'a storm',
    boundMs: 90_000,
    scopes: [
      collection(20, 20),
      collection(2),
      collection(5),
      collection(2),
      collection(10),
      ...lists(500, 0.5, 1.5, 4),
    ],
    storm: { from: 30 * HOUR, to: 32 * HOUR, scopes: 40, times: 100 },
  },
  {
    name: '1,000,000 jobs',
    boundMs: 15_000,
    scopes: [
      collection(120, 2000, 2),
      collection(10, 20),
      collection(2),
      collection(10, 10),
      collection(100),
      ...lists(50, 1, 1.5, 5),
    ],
  },
];

/** What happens to an account, the same for whatever reads it. */
export interface History {
  /** Share of the changes that have no event. */
  readonly lost: number;
  /** By scope: the moments (ms) of its changes, ascending. */
  readonly changes: readonly Float64Array[];
  /** Events, by the moment of their arrival: of which scope, and of which of its changes. */
  readonly events: readonly { readonly at: number; readonly scope: number; readonly change: number }[];
}

/** From a change to its event's arrival (ms). */
export const EVENT_MS = 2_000;

/** @param lost share of the changes that have no event; 1: there is no webhook */
export function historyOf(shape: Shape, lost: number, untilMs: number, seed: number): History {
  const random = seeded(seed);
  const chance = seeded(seed + 1);
  const events: { at: number; scope: number; change: number }[] = [];
  const changes = shape.scopes.map(({ perHour }, scope) => {
    const times: number[] = [];
    const storm = shape.storm !== undefined && scope < shape.storm.scopes ? shape.storm : undefined;
    for (let at = 0; ;) {
      const inStorm = storm !== undefined && at >= storm.from && at < storm.to;
      const next = at + exponential(random, HOUR / (perHour * (inStorm ? storm.times : 1)));
      // Rates change at the storm's bounds: what lies beyond one is drawn anew from there.
      const bound = storm === undefined ? Infinity : at < storm.from ? storm.from : at < storm.to ? storm.to : Infinity;
      if (next >= bound) {
        at = bound;
        continue;
      }
      at = next;
      if (at >= untilMs) break;
      if (chance() >= lost) events.push({ at: at + EVENT_MS, scope, change: times.length });
      times.push(at);
    }
    return Float64Array.from(times);
  });
  return { lost, changes, events: events.toSorted((a, b) => a.at - b.at) };
}
