import type { SuspectedDeletion } from '../../src/model/absence.ts';
import type { Checkpoint } from '../../src/walk/checkpoint.ts';
import type { ScopeMemory } from '../../src/walk/memory.ts';
import type { Ask, Walk } from '../../src/walk/walk.ts';
import type { ListVariant } from '../support/walks/walk-source.ts';
import { afterOperation, movesRow, type ListOperation, type ListState } from './list-model.ts';

interface MirrorRow {
  readonly version: number;
  readonly live: boolean;
  readonly changedAt: number;
}

export interface SuspectInWorld extends SuspectedDeletion, Omit<Deletion, 'key'> {}

/**
 * What is done one after the other: `rest`: an interrupted full walk goes on, then `again`: what it had read is read again;
 * `confirm` where deletions are suspected, `pair` (a full walk once more) where only two
 * whole walks can prove it.
 */
export type Stage = 'full' | 'rest' | 'again' | 'confirm' | 'pair' | 'poll';

/** A walk between two requests. */
export interface Running {
  readonly walk: Walk;
  readonly ask: Extract<Ask, { type: 'page' }>;
  /** Every item that the walk read: key and version. */
  readonly read: readonly (readonly [string, number])[];
  /** Each page was read in trusted order. */
  readonly trusted: boolean;
}

/** A full walk that was interrupted, and the reading that goes on with it. */
interface Interrupted {
  readonly checkpoint: Checkpoint;
  /** Keys seen since it goes on. */
  readonly seen: readonly string[];
  /** Each page of its rest was read in trusted order. */
  readonly trusted: boolean;
  /** What was read again was looked at for rows that are missing. */
  readonly looked: boolean;
  /** Rows that the source had at some moment since it goes on. */
  readonly present: ReadonlySet<number>;
  /** Everything is mirrored as of when it went on, once nothing is suspected any more. */
  readonly claims: boolean;
}

/** Source, mirror and walk at one moment. Never changed in place. */
export interface World {
  readonly list: ListState;
  readonly mirror: ReadonlyMap<string, MirrorRow>;
  readonly suspectChange: ReadonlyMap<string, SuspectInWorld>;
  /** What the last whole walk read, told independently of its digest. */
  readonly wholeRead: string;
  readonly memory: ScopeMemory;
  readonly running: Running | undefined;
  readonly interrupted: Interrupted | undefined;
  readonly stages: readonly Stage[];
  /** Number of the walk. */
  readonly clock: number;
  /** Rows that were gone at some moment of the walk under way. */
  readonly absent: ReadonlySet<number>;
  /** How often each row changed its place, came or went, while the model operated on the source. */
  readonly moves: ReadonlyMap<number, number>;
  readonly deleted: readonly Deletion[];
  /** Rows that the last page claimed absent though the source had them. */
  readonly mistaken: readonly string[];
  /** How it came to this, the last event first. */
  readonly trail: Trail | undefined;
}

export interface Deletion {
  readonly key: string;
  /** The second proof was given although the source had the row at each moment of it. */
  readonly untrue: boolean;
  /** The row was read after the first proof. */
  readonly sighted: boolean;
  /** Its second proof came from a whole walk that read the same as the one before it. */
  readonly alike: boolean;
}

interface Trail {
  readonly event: string;
  readonly before: Trail | undefined;
}

export function told({ trail }: World): string[] {
  const events: string[] = [];
  for (let at = trail; at !== undefined; at = at.before) events.push(at.event);
  return events.reverse();
}

export function newWorld(list: ListState, memory: ScopeMemory): World {
  return {
    list,
    mirror: new Map(),
    suspectChange: new Map(),
    wholeRead: '',
    memory,
    running: undefined,
    interrupted: undefined,
    stages: [],
    clock: 0,
    absent: new Set(),
    moves: new Map(),
    deleted: [],
    mistaken: [],
    trail: undefined,
  };
}

export function operate(variant: ListVariant, world: World, operation: ListOperation): World {
  const list = afterOperation(variant, world.list, operation);
  const { kind, id } = operation;
  const moved = movesRow(world.list, list, operation) ? 1 : 0;
  const { interrupted } = world;
  const present = new Set([...(interrupted?.present ?? []), ...list.live.keys()]);
  return {
    ...world,
    list,
    interrupted: interrupted && { ...interrupted, present },
    absent: list.live.has(id) ? world.absent : new Set([...world.absent, id]),
    moves: new Map(world.moves).set(id, (world.moves.get(id) ?? 0) + moved),
    trail: { event: `${kind} ${id}`, before: world.trail },
  };
}

/** Keys of the rows that the mirror holds as live. */
export function liveKeys(mirror: World['mirror']): string[] {
  return [...mirror].filter(([, row]) => row.live).map(([key]) => key);
}

/** 0: there never was such a row. */
export function versionOf({ versions }: ListState, key: string): number {
  return versions.get(Number(key)) ?? 0;
}
