import { checkpoint } from '../../src/walk/checkpoint.ts';
import { FIRST_LIMIT } from '../../src/walk/reading.ts';
import { newMemory, type ScopeMemory } from '../../src/walk/memory.ts';
import type { ListVariant } from '../support/walks/walk-source.ts';
import { firstList, possibleOperations } from './list-model.ts';
import { beginNext, READING, READING_ON, request } from './reading.ts';
import { liveKeys, newWorld, operate, told, type Deletion, type Stage, type World } from './world.ts';

/** Evidence that four rows can give. */
const NEEDED = { inOrder: 4, inPlace: 1 };
/** Readings after which a quiet source must be mirrored. */
const MAX_READINGS = 4;
const PROGRAM: readonly Stage[] = ['full', 'confirm', 'pair', 'poll', 'confirm'];

export interface Start extends ListVariant {
  /** The order was trusted before the first operation. (Pages must hold three rows to earn that.) */
  readonly trusted: boolean;
  /** The reading goes on where a full walk was interrupted behind its first page. */
  readonly interrupted?: boolean;
}

export interface Found {
  /** Distinct states in which the source could be operated on. */
  states: number;
  /** Distinct states in which it fell quiet. */
  ends: number;
  deletions: number;
  /** Rows deleted although the source had them at each moment of the second proof: what led there. */
  untrue: string[][];
  /** Rows deleted although they were read between the two proofs. */
  sighted: string[][];
  /** Pages that proved rows absent which the source had, where rows do not move: in a list by ID. */
  mistaken: string[][];
  /** Lists by ID that were claimed complete, though a row that was gone all through the reading was still mirrored. */
  incomplete: string[][];
  /** Untrue by two whole walks, within what is stated that these can't tell. */
  bounded: number;
  /** Quiet sources that were not mirrored after a reading (two for those that are `slow`, more: `diverged`). */
  slow: number;
  diverged: string[][];
}

/** Every interleaving of up to `operations` source operations with the requests of a reading and a poll. */
export function explore(start: Start, operations: number): Found {
  return new Search(start).run(operations);
}

class Search {
  readonly #variant: Start;
  readonly #found: Found = {
    states: 0,
    ends: 0,
    deletions: 0,
    untrue: [],
    sighted: [],
    mistaken: [],
    incomplete: [],
    bounded: 0,
    slow: 0,
    diverged: [],
  };
  /** Most operations left with which a state was entered: fewer lead nowhere else. */
  readonly #entered = new Map<string, number>();
  /** Readings after which a quiet state was mirrored. */
  readonly #quiet = new Map<string, number>();

  constructor(variant: Start) {
    this.#variant = variant;
  }

  run(operations: number): Found {
    const open = beginnings(this.#variant, operations);
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const [world, left] = at;
      const key = keyOf(world);
      if ((this.#entered.get(key) ?? -1) >= left) continue;
      this.#entered.set(key, left);
      this.#found.states += 1;
      if (world.running === undefined) {
        this.#checkQuiet(world);
        continue;
      }
      if (left > 0) {
        for (const operation of possibleOperations(this.#variant, world.list)) {
          open.push([operate(this.#variant, world, operation), left - 1]);
        }
      }
      open.push([this.#judged(request(this.#variant, world)), left]);
    }
    return this.#found;
  }

  #judged(world: World): World {
    const { order } = this.#variant;
    const byId = order === 'falling' || order === 'rising';
    if (byId && world.mistaken.length > 0) this.#found.mistaken.push(told(world));
    const { interrupted, deleted } = world;
    if (byId && interrupted?.claims === true && world.suspectChange.size === 0) {
      const stale = liveKeys(world.mirror).some((key) => !interrupted.present.has(Number(key)));
      if (stale) this.#found.incomplete.push(told(world));
    }
    for (const deletion of deleted) {
      this.#found.deletions += 1;
      if (deletion.sighted) this.#found.sighted.push(told(world));
      if (!deletion.untrue) continue;
      if (isBounded(order, world, deletion)) this.#found.bounded += 1;
      else this.#found.untrue.push(told(world));
    }
    return deleted.length === 0 ? world : { ...world, deleted: [] };
  }

  #checkQuiet(world: World): void {
    this.#found.ends += 1;
    const readings = this.#readings(world, MAX_READINGS);
    if (readings > MAX_READINGS) this.#found.diverged.push(told(world));
    else if (readings > 1) this.#found.slow += 1;
  }

  /** Readings of the quiet source until the mirror shows it. */
  #readings(world: World, most: number): number {
    const key = keyOf(world);
    const known = this.#quiet.get(key);
    if (known !== undefined) return known;
    let next = beginNext({ ...world, stages: READING });
    while (next.running !== undefined) next = this.#judged(request(this.#variant, next));
    const readings = isMirrored(next) ? 1 : most <= 1 ? 2 : 1 + this.#readings(next, most - 1);
    this.#quiet.set(key, readings);
    return readings;
  }
}

/** A mirror of the list; its order was earned with wide pages, before those of the variant. */
function loaded({ trusted, ...variant }: Start): World {
  const wide = { ...variant, pageSize: 10 };
  const memory: ScopeMemory = { ...newMemory('bigint'), needed: NEEDED };
  let world = newWorld(firstList(variant), memory);
  const readAll = (pages: ListVariant): void => {
    world = beginNext({ ...world, stages: ['full'] });
    while (world.running !== undefined) world = request(pages, world);
  };
  readAll(wide);
  if (trusted) {
    world = operate(wide, world, { kind: 'update', id: 2 });
    readAll(wide);
  }
  world = { ...world, memory: { ...world.memory, limit: FIRST_LIMIT } };
  readAll(variant);
  return { ...world, memory: { ...world.memory, whole: null }, moves: new Map(), trail: undefined };
}

/** Worlds to begin with, and how often the source may still be operated on. */
function beginnings({ interrupted = false, ...variant }: Start, operations: number): [World, number][] {
  if (!interrupted) return [[beginNext({ ...loaded(variant), stages: PROGRAM }), operations]];
  const broken = brokenOff(variant);
  if (broken === undefined) return [];
  // Something may have happened before the walk goes on.
  const meanwhile = possibleOperations(variant, broken.list).map((each) => operate(variant, broken, each));
  return [broken, ...meanwhile].map((world, index) => {
    const present = new Set(world.list.live.keys());
    const goesOn = { ...world, interrupted: world.interrupted && { ...world.interrupted, present } };
    return [beginNext(goesOn), index === 0 ? operations : operations - 1];
  });
}

/** The mirror of the list, with a full walk that was interrupted behind its first page; undefined: it has one page only. */
function brokenOff(variant: Start): World | undefined {
  const world = loaded(variant);
  const walking = request(variant, beginNext({ ...world, stages: ['full'] }));
  const { running } = walking;
  if (running === undefined || running.walk.kind !== 'full') return undefined;
  const nothing = { seen: [], trusted: false, looked: false, present: new Set<number>(), claims: false };
  const interrupted = { checkpoint: checkpoint(running.walk), ...nothing };
  const stages = [...READING_ON, 'poll', 'confirm'] as const;
  return { ...walking, running: undefined, interrupted, trail: undefined, stages };
}

function isMirrored({ mirror, list }: World): boolean {
  const rows = [...mirror].filter(([, row]) => row.live);
  return rows.length === list.live.size && rows.every(([key, { version }]) => list.live.get(Number(key)) === version);
}

/**
 * What two whole walks that read the same can't tell (docs/design/deletions.md, "P2"): a row that moved, came or went three times in step
 * with them; or, where content does not show moves, one move during each of them, of any row.
 */
function isBounded(order: Start['order'], { moves }: World, { key, alike }: Deletion): boolean {
  if (!alike) return false;
  const all = [...moves.values()].reduce((sum, each) => sum + each, 0);
  return (moves.get(Number(key)) ?? 0) >= 3 || (order === 'rank' && all >= 2);
}

const memoryKeys = new WeakMap<ScopeMemory, string>();

/** Equal for worlds that no walk and no check can tell apart. */
function keyOf(world: World): string {
  const { list, mirror, suspectChange, memory, running, interrupted, stages, clock, absent, moves } = world;
  const old = (at: number): number => Math.min(1, clock - at);
  let remembered = memoryKeys.get(memory);
  if (remembered === undefined) {
    const rows = Math.min(2, memory.rows);
    remembered = JSON.stringify({ ...memory, whole: memory.whole?.digest, rows });
    memoryKeys.set(memory, remembered);
  }
  const walk = running && { ...running.walk, items: 0, pages: Math.min(1, running.walk.pages) };
  return JSON.stringify([
    list.places,
    [...list.versions].sort(byFirst),
    [...list.live.keys()].sort(byNumber),
    [...mirror].sort(byFirst).map(([key, row]) => [key, row.version, row.live, old(row.changedAt)]),
    [...suspectChange.values()]
      .map(({ key, kind, at, ...flags }) => [key, kind, old(at), flags.proven, flags.untrue, flags.sighted].join())
      .sort(),
    walk,
    running?.read,
    running?.trusted,
    stages,
    [...absent].sort(byNumber),
    [...moves].sort(byFirst),
    interrupted && { ...interrupted, present: [...interrupted.present].sort(byNumber) },
    remembered,
  ]);
}

function byFirst(a: readonly [string | number, unknown], b: readonly [string | number, unknown]): number {
  return a[0] < b[0] ? -1 : 1;
}

function byNumber(a: number, b: number): number {
  return a - b;
}
