import { BurstGate } from './evidence/burst-gate.ts';
import { FirstContact } from './evidence/first-contact.ts';
import type { GroupModel } from './group-model.ts';
import type { KeyModel } from './key-model.ts';
import { Pace } from './evidence/pace.ts';
import { defaultLimit } from './rate-groups.ts';
import { LESSON_MEMORY_MS, LONGEST_PAUSE_MS } from './slots/timing.ts';
import type { StoreTime } from './store/store-time.ts';
import type { LearntRate, LearntRow, StoredGroup } from './store/store.ts';

/**
 * What the store keeps of a group (or of the limit over all endpoints), in the store's time.
 * @param serial greater than that of every earlier row
 */
export function learntRow(
  model: KeyModel,
  name: StoredGroup,
  now: number,
  time: StoreTime,
  serial: number,
): LearntRow {
  if (name === 'all') {
    const overall = model.overall;
    const learnt =
      overall === undefined ? {} : { ceiling: { limit: overall.limit, until: time.toStore(overall.until) } };
    return { group: name, learnt: { serial, ...learnt } };
  }
  return { group: name, learnt: { serial, ...learntOf(model.group(name), now, time) } };
}

function learntOf(group: GroupModel, now: number, time: StoreTime): LearntRate {
  const lesson = group.pace.lesson(now);
  const limits = group.limits
    .entries(now)
    .map(({ route, limit, seenAt }) => [route, { limit, seenAt: time.toStore(seenAt) }] as const);
  return {
    contacted: group.contact.proven,
    bursts: group.bursts.provenSize,
    limits: Object.fromEntries(limits),
    ...(lesson === undefined ? {} : { paced: { ...lesson, until: time.toStore(lesson.until) } }),
    ...(group.ceilingUntil > now ? { grantedOnlyUntil: time.toStore(group.ceilingUntil) } : {}),
    ...(group.pausedUntil > now ? { pausedUntil: time.toStore(group.pausedUntil) } : {}),
    ...(group.remainingIgnoredUntil > now
      ? { remainingIgnoredUntil: time.toStore(group.remainingIgnoredUntil) }
      : {}),
  };
}

/** Takes over what earlier processes learnt; leaves out what has expired or makes no sense. */
export function inheritLearnt(
  model: KeyModel,
  rows: readonly LearntRow[],
  now: number,
  time: StoreTime,
): void {
  // Nothing is kept for longer than it is remembered, whatever happened to the store's clock.
  const until: Until = (moment, memoryMs) => Math.min(now + memoryMs, time.fromStore(moment ?? -Infinity));
  for (const { group: name, learnt } of rows) {
    if (name === 'all') {
      const { ceiling } = learnt;
      if (ceiling !== undefined && isLimit(ceiling.limit)) {
        model.overall = { limit: ceiling.limit, until: until(ceiling.until, LESSON_MEMORY_MS) };
      }
    } else {
      const group = model.groups.get(name);
      if (group !== undefined) inherit(group, learnt, until);
    }
  }
}

/** A stored moment by our clock, at most so many milliseconds from now. */
type Until = (moment: number | undefined, memoryMs: number) => number;

function inherit(group: GroupModel, learnt: LearntRate, until: Until): void {
  group.contact = new FirstContact(learnt.contacted === true);
  group.bursts = new BurstGate(provenSize(group, learnt.bursts));
  for (const [route, { limit, seenAt }] of Object.entries(learnt.limits ?? {})) {
    if (isLimit(limit)) group.limits.inherit(route, limit, until(seenAt, 0));
  }
  if (learnt.paced !== undefined) {
    group.pace = new Pace({ ...learnt.paced, until: until(learnt.paced.until, LESSON_MEMORY_MS) });
  }
  group.ceilingUntil = until(learnt.grantedOnlyUntil, LESSON_MEMORY_MS);
  group.pausedUntil = until(learnt.pausedUntil, LONGEST_PAUSE_MS);
  group.remainingIgnoredUntil = until(learnt.remainingIgnoredUntil, LESSON_MEMORY_MS);
}

function isLimit(limit: number): boolean {
  return Number.isInteger(limit) && limit > 0;
}

/** Of a row of 0.2.0, which says only that bursts were proven: for the specification's limit. */
function provenSize(group: GroupModel, stored: LearntRate['bursts']): number {
  if (stored === true) return defaultLimit(group.name);
  return typeof stored === 'number' && stored > 0 ? stored : 0;
}
