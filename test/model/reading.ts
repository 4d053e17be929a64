import { scratchKeys } from '@research-mirror/runtime/testing/scratch-keys';
import { NO_SUSPECTS, type AbsenceProof, type SuspectChange } from '../../src/model/absence.ts';
import { beginConfirm } from '../../src/walk/refresh.ts';
import { judgePage } from '../../src/walk/proof.ts';
import { beginFull, hasReadThrough } from '../../src/walk/full.ts';
import { resumeFull } from '../../src/walk/checkpoint.ts';
import { compareInList, noteWritten, orderGrade, type ScopeMemory } from '../../src/walk/memory.ts';
import { judgePair, WalkSequence, type WholeWalk } from '../../src/walk/whole-walk.ts';
import { beginPoll } from '../../src/walk/poll.ts';
import { step } from '../../src/walk/step.ts';
import type { End, Step, Walk } from '../../src/walk/walk.ts';
import { readPage, type ListVariant } from '../support/walks/walk-source.ts';
import { liveKeys, versionOf, type SuspectInWorld, type Running, type Stage, type World } from './world.ts';

/** Least time between two proofs, on a clock that counts walks: two proofs come from two walks. */
const GRACE_PERIOD = 1;

/** Begins the next stage that has something to do; without one the world rests (`running` is undefined). */
export function beginNext(world: World): World {
  const [stage, ...stages] = world.stages;
  if (stage === undefined) return { ...world, running: undefined };
  const next = { ...world, stages, running: undefined };
  const open = [...world.suspectChange.values()].filter(({ proven }) => !proven);
  if (stage === 'confirm' && open.every(({ kind }) => kind === 'pair')) return beginNext(next);
  // What was not enough has gone on to the list's end, where two whole walks may tell.
  if (stage === 'pair' && !open.some(({ kind }) => kind === 'pair')) return beginNext(next);
  const clock = world.clock + 1;
  const absent = new Set([...world.list.versions.keys()].filter((id) => !world.list.live.has(id)));
  const begun = begin(stage, world, open);
  return goOn({ ...next, clock, absent, trail: { event: stage, before: world.trail } }, begun, [], true);
}

function begin(stage: Stage, { memory, mirror, interrupted }: World, open: readonly SuspectInWorld[]): Step {
  if (stage === 'rest' && interrupted !== undefined) return resumeFull(memory, interrupted.checkpoint);
  const now = 0; // frontiers and overlaps are not this model's subject: everything is recent
  const live = liveKeys(mirror).sort((a, b) => Number(b) - Number(a));
  if (stage === 'poll') return beginPoll(memory, { overlapKey: live[0] ?? null, now });
  const keys = open.filter(({ kind }) => kind !== 'pair').map(({ key }) => key);
  if (stage === 'confirm') return beginConfirm(memory, { keys, now });
  return beginFull(memory, { liveRows: live.length, now });
}

/** One request of the walk under way, and everything that follows from its answer. */
export function request(variant: ListVariant, world: World): World {
  const { running, memory } = world;
  if (running === undefined) throw new RangeError('no walk is under way');
  const { cursor, limit } = running.ask;
  const answer = readPage(variant, world.list, cursor, limit);
  const stepped = step(running.walk, memory, answer, 0);
  const keys = answer.type === 'page' ? answer.keys.filter((key) => key !== undefined) : [];
  const event = `after ${cursor ?? 'the top'}: ${answer.type === 'page' ? `${keys.join(' ')} ${answer.hasMore ?? ''}` : 'refused'}`;
  const asked = { ...world, trail: { event, before: world.trail } };
  const { world: written, memory: noted, overlooks } = write(asked, stepped, keys);
  const read = [...running.read, ...keys.map((key) => [key, versionOf(world.list, key)] as const)];
  const proof = stepped.page?.proof ?? null;
  // Beyond its last item a page tells only where it shows that nothing follows.
  const isCovered = stepped.ask.type !== 'end' || proof?.kind === 'snapshot' || proof?.through === null;
  const trusted = running.trusted && !overlooks && isCovered && orderGrade(noted) === 'trusted';
  const [next, enough] = isEnough(written, stepped, keys);
  const ask = enough ? ({ type: 'end', outcome: 'reached' } as const) : stepped.ask;
  return goOn(next, { ...stepped, memory: noted, ask }, read, trusted);
}

/** Whether what an interrupted walk had read was read again, and nothing can be missing unnoticed (src/sync/read-scope.ts). */
function isEnough(world: World, { walk, memory, ask }: Step, keys: readonly string[]): [World, boolean] {
  const { interrupted, mirror } = world;
  if (interrupted === undefined || walk.kind !== 'full') return [world, false];
  const seen = [...interrupted.seen, ...keys];
  const noted = { ...interrupted, seen };
  const through = interrupted.checkpoint.recent.at(-1);
  const again = !walk.resumed && !interrupted.looked && ask.type !== 'end';
  if (!again || through === undefined || !hasReadThrough(walk, memory, through)) {
    return [{ ...world, interrupted: noted }, false];
  }
  const enough = liveKeys(mirror).every((key) => seen.includes(key)) && orderGrade(memory) !== 'trusted';
  return [{ ...world, interrupted: { ...noted, looked: true, claims: enough } }, enough];
}

/**
 * Writes a page: rows, evidence, suspected deletions.
 * @returns `overlooks`: rows are missing that changed too lately to be suspected
 */
function write(world: World, { memory, page }: Step, keys: readonly string[]) {
  const { clock, list } = world;
  const mirror = new Map(world.mirror);
  const rows = keys.map((key) => {
    const before = mirror.get(key);
    const version = versionOf(list, key);
    const known = before?.live === true;
    const changed = before?.version !== version;
    if (!known || changed) mirror.set(key, { version, live: true, changedAt: clock });
    return { key, known, changed };
  });
  const suspects = [...world.suspectChange.values()];
  const { proof = null, contradiction = false } = page ?? {};
  const missing = liveKeys(world.mirror)
    .filter((key) => !keys.includes(key) && covers(proof, memory, key))
    .map((key) => ({ key, changedAt: world.mirror.get(key)?.changedAt ?? 0 }));
  const view = { proof, contradiction, sentAt: clock, seen: keys, deferred: [], missing, suspects };
  const change = page === undefined ? NO_SUSPECTS : judgePage({ ...view, gracePeriodMs: GRACE_PERIOD });
  const suspectChange = new Map(changed(world, change, (id) => list.live.has(id)));
  // Rows that are suspected though they have just been read.
  for (const suspect of keys.flatMap((key) => suspectChange.get(key) ?? []))
    suspectChange.set(suspect.key, { ...suspect, sighted: true });
  const mistaken = missing.map(({ key }) => key).filter((key) => list.live.has(Number(key)));
  const overlooks = missing.some(({ key }) => !suspectChange.has(key));
  return {
    world: { ...world, mirror, suspectChange, mistaken },
    memory: noteWritten(memory, rows),
    overlooks,
  };
}

/** Looks stored rows up, until the walk asks the source again or ends. */
function goOn(world: World, from: Step, read: Running['read'], trusted: boolean): World {
  let { walk, memory, ask } = from;
  while (ask.type === 'predecessor') {
    const { of, nth, direction } = ask;
    const place = (a: string, b: string): number => compareInList(memory.keyType, direction, a, b);
    const before = liveKeys(world.mirror)
      .filter((key) => place(key, of) < 0 && !world.suspectChange.has(key))
      .sort((a, b) => place(b, a));
    const key = before[nth - 1] ?? before.at(-1) ?? null;
    ({ walk, memory, ask } = step(walk, memory, { type: 'predecessor', key }, 0));
  }
  if (ask.type === 'end') return ended({ ...world, memory }, walk, ask, read, trusted);
  return { ...world, memory, running: { walk, ask, read, trusted } };
}

/** The end of a walk: what whole walks prove, then deletions, then the next stage. */
function ended(world: World, walk: Walk, end: End, read: Running['read'], trusted: boolean): World {
  const trail = { event: `${end.outcome} ${end.reason ?? ''}`.trimEnd(), before: world.trail };
  const stages = end.outcome === 'full-needed' && walk.kind === 'poll' ? READING : [];
  const isRest = walk.kind === 'full' && walk.resumed;
  const interrupted = world.interrupted && isRest ? { ...world.interrupted, trusted } : world.interrupted;
  const settled = { ...world, interrupted, trail, stages: [...stages, ...world.stages] };
  const isWhole = walk.kind === 'full' && end.outcome === 'complete';
  return beginNext(deleteProven(isWhole ? judgeWhole(settled, walk, end, read) : settled));
}

/** Everything that one reading of a scope does. */
export const READING: readonly Stage[] = ['full', 'confirm', 'pair', 'confirm'];
/** The same where a full walk was interrupted. */
export const READING_ON: readonly Stage[] = ['rest', 'again', 'confirm', 'pair', 'confirm'];

function judgeWhole(world: World, walk: Walk, end: End, read: Running['read']): World {
  const { clock, memory, absent, list } = world;
  const sequence = new WalkSequence(scratchKeys.open());
  for (const [key, version] of read) sequence.add(key, String(version));
  const digest = sequence.digest();
  const resumed = walk.kind === 'full' && walk.resumed;
  const clean = end.outcome === 'complete' && !resumed && walk.restarts === 0 && digest !== undefined;
  const whole: WholeWalk | null = clean ? { digest, began: clock, ended: clock } : null;
  const next = { ...world, memory: { ...memory, whole } };
  if (whole === null) return next;
  const missing = [...world.mirror]
    .filter(([key, row]) => row.live && !sequence.has(key))
    .map(([key, { changedAt }]) => ({ key, changedAt }));
  const suspects = [...world.suspectChange.values()].filter(({ key }) => !sequence.has(key));
  const change = judgePair(memory.whole, whole, { missing, suspects, gracePeriodMs: GRACE_PERIOD });
  const wholeRead = JSON.stringify([...new Map(read)]);
  const alike = wholeRead === world.wholeRead;
  const suspectChange = new Map(changed(world, change, (id) => list.live.has(id) && !absent.has(id)));
  for (const [key, suspect] of suspectChange) suspectChange.set(key, { ...suspect, alike });
  return { ...next, wholeRead, suspectChange };
}

/** The suspected deletions after a change. @param present whether the source has had a row all through the present proof */
function changed(
  { suspectChange, clock, trail }: World,
  { add, prove, withdraw, withdrawOrdered }: SuspectChange,
  present: (id: number) => boolean,
): World['suspectChange'] {
  const next = new Map(suspectChange);
  if (withdrawOrdered) for (const [key, { kind }] of suspectChange) if (kind === 'interval') next.delete(key);
  const unproven = { at: clock, proven: false, untrue: false, sighted: false, alike: false };
  for (const { key, kind } of add) next.set(key, { key, kind, ...unproven });
  for (const key of prove) {
    const suspect = next.get(key);
    if (suspect === undefined) throw new Error(`a row was proven that is not in doubt: ${key} ${trail?.event}`);
    next.set(key, { ...suspect, proven: true, untrue: present(Number(key)) });
  }
  for (const key of withdraw) next.delete(key);
  return next;
}

/** Deletes what was proven twice. */
function deleteProven(world: World): World {
  const proven = [...world.suspectChange.values()].filter((suspect) => suspect.proven);
  if (proven.length === 0) return world;
  const mirror = new Map(world.mirror);
  const suspectChange = new Map(world.suspectChange);
  for (const { key } of proven) {
    mirror.set(key, { version: mirror.get(key)?.version ?? 0, live: false, changedAt: world.clock });
    suspectChange.delete(key);
  }
  const deletions = proven.map((suspect) => ({
    ...suspect,
    alike: suspect.kind === 'pair' && suspect.alike,
  }));
  const event = `deletes ${proven.map(({ key }) => key).join(' ')}`;
  const deleted = [...world.deleted, ...deletions];
  return { ...world, mirror, suspectChange, deleted, trail: { event, before: world.trail } };
}

function covers(proof: AbsenceProof | null, { keyType }: ScopeMemory, key: string): boolean {
  if (proof === null) return false;
  if (proof.kind === 'snapshot') return true;
  const { direction, after, through } = proof;
  const beyond = after === null || compareInList(keyType, direction, key, after) > 0;
  return beyond && (through === null || compareInList(keyType, direction, key, through) <= 0);
}
