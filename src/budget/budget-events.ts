import type { BudgetEvent } from './budget.ts';
import type { Answered, Finding, GroupModel } from './group-model.ts';
import type { Cause } from './evidence/refusal-cause.ts';

/** What an operator reads about a 429. */
export function refusedEvent(
  group: GroupModel,
  cause: Cause,
  { route, receivedAt }: Answered,
  overallLimit: number | undefined,
): BudgetEvent {
  const consequences: Record<Cause['kind'], string> = {
    'overall-limit': `there is a limit over all endpoints, taken as ${String(overallLimit)} per 60 s`,
    'lower-limit': `the service's limit is ${String(group.limit(receivedAt))} per 60 s now`,
    'foreign-use': 'somebody else uses this key, more is left to them',
    unexplained: `no use of this key explains it, from now on one request each ${seconds(group.pacedMs(receivedAt) ?? 0)}`,
  };
  const wait = seconds(group.pausedUntil - receivedAt);
  return {
    kind: 'refused',
    group: group.name,
    message: `429 on ${route} (group ${group.name}): ${consequences[cause.kind]}; waiting ${wait}`,
  };
}

/** What an operator reads about something that headers showed. */
export function findingEvent(
  finding: Exclude<Finding, 'noted'>,
  { name, limit }: { readonly name: GroupModel['name']; readonly limit: number },
  remaining: number | undefined,
): BudgetEvent {
  const events: Record<typeof finding, Omit<BudgetEvent, 'group'>> = {
    limit: {
      kind: 'limit-changed',
      message: `group ${name} has a limit of ${String(limit)} requests per 60 s`,
    },
    'remaining-broken': {
      kind: 'remaining-ignored',
      message: `X-RateLimit-Remaining of group ${name} stays at ${String(remaining)} and counts no requests: ignored for a day`,
    },
    'lesson-withdrawn': {
      kind: 'paced',
      message: `others use this key, which explains the 429 of group ${name}: no longer paced`,
    },
  };
  return { ...events[finding], group: name };
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
