import type { BudgetSnapshot, GroupSnapshot } from './budget.ts';
import type { GroupModel } from './group-model.ts';
import { KeyModel } from './key-model.ts';
import { inheritLearnt } from './learnt.ts';
import { defaultLimit, type RateGroup } from './rate-groups.ts';
import { inheritBlocks } from './store/inherit.ts';
import { StoreTime } from './store/store-time.ts';
import type { LoadedBudget } from './store/store.ts';

/** What status page and metrics show, at the monotonic moment `now`. @param waiting tasks of a group that wait */
export function budgetSnapshotOf(
  model: KeyModel,
  waiting: (group: RateGroup) => number,
  now: number,
): BudgetSnapshot {
  return {
    overallLimit: model.overallLimit(now),
    groups: [...model.groups.values()].map((group) => ({
      ...groupSnapshot(model, group, now),
      waiting: waiting(group.name),
    })),
  };
}

/** What the store alone shows of a key that another process uses: others' use, and what waits, it does not have. */
export function storedSnapshot({ now, blocks, learnt }: LoadedBudget, share: number): BudgetSnapshot {
  const model = new KeyModel(share);
  const time = new StoreTime(now, 0);
  inheritLearnt(model, learnt, 0, time);
  inheritBlocks(model, blocks, 0, time);
  return budgetSnapshotOf(model, () => 0, 0);
}

function groupSnapshot(key: KeyModel, group: GroupModel, now: number): Omit<GroupSnapshot, 'waiting'> {
  const admission = key.admission({ group: group.name, high: true, highWaits: false }, now);
  const bound = boundOf(key, group, now);
  return {
    group: group.name,
    limit: group.limit(now),
    size: Math.min(group.size(now), key.overallSize(now)),
    why: bound?.why,
    forMs: bound?.until === undefined ? undefined : bound.until - now,
    used: group.used(now),
    inFlight: group.log.inFlight,
    freeInMs: admission === 'go' ? 0 : admission.at === undefined ? undefined : admission.at - now,
    foreignUse: group.foreign.highest(now),
    pacedMs: group.pacedMs(now),
    pausedForMs: Math.max(0, group.pausedUntil - now),
    sent: group.log.sent,
    refused: group.refusals,
  };
}

/** Which limit counts in place of our share of the specification's. */
function boundOf(
  key: KeyModel,
  group: GroupModel,
  now: number,
): { readonly why: string; readonly until?: number } | undefined {
  const [told, granted, paced] = [group.told(now), defaultLimit(group.name), group.pacedMs(now)];
  if (group.pausedUntil > now) return { why: 'a 429 asked to wait', until: group.pausedUntil };
  if (key.overall !== undefined && key.overallSize(now) < group.size(now)) {
    const { limit, until } = key.overall;
    return { why: `a 429 has shown a limit of ${limit} over all endpoints`, until };
  }
  const lesson = group.pace.lesson(now);
  if (lesson !== undefined && paced !== undefined) {
    const each = (paced / 1_000).toFixed(1);
    return { why: `after a 429 that nothing explains, one request goes each ${each} s`, until: lesson.until };
  }
  if (group.size(now) < group.shared(now)) {
    return { why: `others use ${group.foreign.highest(now)} of ${told}` };
  }
  if (group.ceilingUntil > now && told > granted) {
    return { why: `a 429 has contradicted the ${told} that the service names`, until: group.ceilingUntil };
  }
  return told < granted ? { why: `the service names ${told} in place of ${granted}` } : undefined;
}
