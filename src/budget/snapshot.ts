import type { BudgetSnapshot, GroupSnapshot } from './budget.ts';
import type { KeyModel } from './key-model.ts';
import type { EndpointGroup } from './endpoint-group.ts';

/** What status page and metrics show, at the monotonic moment `now`. */
export function budgetSnapshotOf(
  model: KeyModel,
  endpointGroups: readonly EndpointGroup[],
  now: number,
): BudgetSnapshot {
  return {
    overallLimit: model.overallLimit(now),
    groups: endpointGroups.map((endpointGroup) => groupSnapshot(endpointGroup, now)),
  };
}

function groupSnapshot({ model, queue }: EndpointGroup, now: number): GroupSnapshot {
  const admission = model.admission(now, true, false);
  return {
    group: model.name,
    limit: model.limit(now),
    size: model.size(now),
    used: model.used(now),
    inFlight: model.log.inFlight,
    waiting: queue.waiting,
    freeInMs: admission === 'go' ? 0 : admission.at === undefined ? undefined : admission.at - now,
    foreignUse: model.foreign.highest(now),
    pacedMs: model.pacedMs(now),
    pausedForMs: Math.max(0, model.pausedUntil - now),
    sent: model.log.sent,
    refused: model.refusals,
  };
}
