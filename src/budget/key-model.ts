import type { BudgetEvent } from './budget.ts';
import { GroupModel, type Admission, type Answered, type Finding } from './group-model.ts';
import { RATE_GROUPS, type RateGroup } from './rate-groups.ts';
import { explain, type Cause } from './evidence/refusal-cause.ts';
import { earliest } from './slots/moments.ts';
import type { StoredGroup } from './store/store.ts';
import { GUARD_MS, LESSON_MEMORY_MS, WINDOW_MS } from './slots/timing.ts';

/** Factor by which a 429 that came although the limit over all endpoints was kept lowers that limit. */
const LOWER_BY = 0.9;

/** A request as the model sees it. */
export interface AdmissionRequest {
  readonly group: RateGroup;
  readonly high: boolean;
  /** A request of high priority waits in the group. */
  readonly highWaits: boolean;
}

/**
 * All endpoint groups of one key, and their common rules: the first answer, the window that a key with an unknown
 * past waits out, a limit over all endpoints. Pure.
 */
export class KeyModel {
  readonly groups: ReadonlyMap<RateGroup, GroupModel>;
  readonly #share: number;
  /** Groups with lessons that the store does not have yet. */
  readonly changed = new Set<StoredGroup>();
  overall: { limit: number; until: number } | undefined;
  /** Until then only one request may go, and only in `other`: the past of the key is unknown. */
  quietUntil = -Infinity;
  /** False until the first answer to a key that nobody ever used: one request at a time. */
  answered = true;

  constructor(share: number) {
    this.#share = share;
    this.groups = new Map(RATE_GROUPS.map((name) => [name, new GroupModel(name, share)]));
  }

  group(name: RateGroup): GroupModel {
    const found = this.groups.get(name);
    if (found === undefined) throw new RangeError(`no endpoint group named ${JSON.stringify(name)}`);
    return found;
  }

  admission(asked: AdmissionRequest, now: number): Admission {
    const group = this.group(asked.group);
    if (this.quietUntil > now && (group.name !== 'other' || group.log.sent > 0))
      return { at: this.quietUntil };
    if (!this.answered && this.#sum((each) => each.log.inFlight) > 0) return { at: undefined };
    if (this.#sum((each) => each.used(now)) >= this.overallSize(now)) {
      return { at: earliest(...this.groups.values().map((each) => each.nextFree(now))) };
    }
    return group.admission(now, asked.high, asked.highWaits);
  }

  /** The learnt limit over all endpoints. */
  overallLimit(now: number): number | undefined {
    return this.overall !== undefined && this.overall.until > now ? this.overall.limit : undefined;
  }

  /** How many slots this program allows itself over all endpoints; Infinity: as many as all groups have. */
  overallSize(now: number): number {
    const limit = this.overallLimit(now);
    return limit === undefined ? Infinity : Math.max(1, Math.floor(this.#share * limit));
  }

  /** @returns what an operator should know */
  judge(name: RateGroup, status: number, answer: Answered): readonly BudgetEvent[] {
    const group = this.group(name);
    this.answered = true;
    if (status === 429) return this.#refused(group, answer);
    const findings = group.accepted(answer);
    if (findings.length === 0) return [];
    this.changed.add(name);
    const now = { name, limit: group.limit(answer.receivedAt) };
    return findings
      .filter((finding) => finding !== 'noted')
      .map((finding) => findingEvent(finding, now, answer.headers.remaining));
  }

  #refused(group: GroupModel, answer: Answered): readonly BudgetEvent[] {
    const now = answer.receivedAt;
    const lesson = group.pace.lesson(now);
    const routeLimit = group.limits.of(answer.route, now);
    const facts = group.refused(answer);
    this.changed.add(group.name);
    if (facts === undefined) return [];
    const cause = explain({
      ...facts,
      limit: answer.headers.limit,
      routeLimit,
      used: group.used(now),
      usedOverall: this.#sum((each) => each.used(now)),
      paced: lesson !== undefined,
    });
    this.#learn(group, cause, answer);
    return [refusedEvent(group, cause, answer, this.overallLimit(now))];
  }

  #learn(group: GroupModel, cause: Cause, answer: Answered): void {
    const now = answer.receivedAt;
    switch (cause.kind) {
      case 'overall-limit': {
        const lowered = Math.max(1, Math.floor((this.overallLimit(now) ?? Infinity) * LOWER_BY));
        this.overall = { limit: Math.min(cause.limit, lowered), until: now + LESSON_MEMORY_MS };
        this.changed.add('all');
        break;
      }
      case 'lower-limit':
        group.lowerLimit(answer.route, cause.limit, now);
        break;
      case 'foreign-use':
        group.blameForeign(now);
        break;
      case 'unexplained':
        group.learnPace(now);
        break;
    }
  }

  #sum(of: (group: GroupModel) => number): number {
    return this.groups.values().reduce((sum, group) => sum + of(group), 0);
  }

  /** The key was used before, and no rows of it are left: as if its window had just been filled. */
  beQuiet(now: number): void {
    this.quietUntil = now + WINDOW_MS + GUARD_MS;
  }
}

/** What an operator reads about a 429. */
function refusedEvent(
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
function findingEvent(
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
