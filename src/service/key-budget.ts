import { GroupBudget, Pace, type RateAnswer, TRUST_AFTER, UNSPACED } from './group-budget.ts';
import { defaultLimit, RATE_GROUPS, type RateGroup, type StoredGroup } from './rate-groups.ts';
import { WINDOW_MS } from './slots.ts';

/** How often the limits of routes are stored again (ms): the next process believes them for an hour. */
const RETOLD_MS = 1_800_000;
/** Two groups that are refused within an hour are taken to have a common limit, for a day. */
const COMMON_LIMIT = { withinMs: 3_600_000, lastsMs: 86_400_000 } as const;

/** News for the operator; `message` is one line for the log. */
export interface BudgetEvent {
  readonly kind: 'refused' | 'limit-changed' | 'remaining-ignored';
  readonly group: RateGroup;
  readonly message: string;
}

/** A key's budget as the status page and metrics show it. */
export type BudgetSnapshot = ReturnType<KeyBudget['snapshot']>;

/** All endpoint groups of one key, and their common rules: careful start, unknown past, one pace for all. Pure. */
export class KeyBudget {
  readonly groups: Readonly<Record<RateGroup, GroupBudget>>;
  /** One pace for all groups, and until when a 429 stops them all. */
  readonly pace = new Pace();
  pausedUntil = -Infinity;
  /** Answers in a row that were no 429. Until the first one, one request at a time. */
  accepted = 0;
  /** Until then only one request may go, and only in `other`: the past of the key is unknown. */
  quietUntil = -Infinity;
  /** Groups of which the store lacks something that was learnt. */
  readonly changed = new Set<StoredGroup>();
  readonly #share: number;
  #lastSentAt = -Infinity;
  /** When the pace of all was learnt: requests sent before teach nothing more. */
  #learntAt = -Infinity;
  /** The last unexplained 429, and how many slots of all groups were in use. */
  #refusal: { readonly group: GroupBudget; readonly at: number; readonly used: number } | undefined;

  constructor(share: number) {
    this.#share = share;
    const groups = RATE_GROUPS.map((name) => [name, new GroupBudget(name, share)] as const);
    this.groups = Object.fromEntries(groups) as Record<RateGroup, GroupBudget>;
  }

  /** See `GroupBudget.admission`. */
  admission(name: RateGroup, high: boolean, now: number): number {
    const group = this.groups[name];
    if (this.quietUntil > now && (name !== 'other' || group.log.sent > 0)) return this.quietUntil;
    this.#endPaces(now);
    const few = this.accepted < TRUST_AFTER.concurrency ? UNSPACED.least : Infinity;
    if (this.#inFlight() >= (this.accepted === 0 ? 1 : few)) return Infinity;
    if (this.pace.isOn(now)) {
      if (this.pausedUntil > now) return this.pausedUntil;
      if (this.#used(now) >= this.pace.limit)
        return Math.min(...Object.values(this.groups).map((each) => each.log.nextFree(now)));
      const turn = this.#lastSentAt + WINDOW_MS / this.pace.limit;
      if (turn > now) return turn;
    }
    return group.admission(now, high, this.accepted);
  }

  sent(name: RateGroup, now: number, high: boolean): void {
    this.#lastSentAt = now;
    this.groups[name].sent(now, high);
  }

  /** Learns of an answer. @returns news for the operator */
  judge(name: RateGroup, status: number, answer: RateAnswer): BudgetEvent | undefined {
    const group = this.groups[name];
    const now = answer.receivedAt;
    if (status === 429) return this.#refused(group, answer);
    const limitBefore = group.limit(now);
    this.accepted += 1;
    const ignored = group.accepted(answer);
    const limit = group.limit(now);
    if (this.accepted === TRUST_AFTER.bursts) this.changed.add('all');
    if (ignored || limit !== limitBefore || group.toldAt + RETOLD_MS <= now) {
      group.toldAt = now;
      this.changed.add(name);
    }
    if (ignored) {
      const value = String(answer.headers.remaining);
      return {
        kind: 'remaining-ignored',
        group: name,
        message: `X-RateLimit-Remaining of group ${name} stays at ${value} and counts no requests: ignored for an hour`,
      };
    }
    if (limit === limitBefore) return undefined;
    const message = `group ${name} has a limit of ${String(limit)} requests per 60 s`;
    return { kind: 'limit-changed', group: name, message };
  }

  #refused(group: GroupBudget, answer: RateAnswer): BudgetEvent | undefined {
    const now = answer.receivedAt;
    const used = this.#used(now) - this.#inFlight();
    const cause = group.refused(answer);
    this.accepted = 0;
    this.changed.add(group.name).add('all');
    if (this.pace.isOn(now)) this.pausedUntil = Math.max(this.pausedUntil, group.pausedUntil);
    if (cause === 'earlier' || answer.sentAt <= this.#learntAt) return undefined;
    const together = cause === undefined && this.#learnTogether(group, used, now);
    if (!together) group.pace.learn(cause === undefined ? group.grantedShare(now) : undefined, now);
    const consequences = {
      others: 'another program uses this key, so more of the limit is left to it',
      lower: `the service's limit is now ${String(group.limit(now))} per 60 s`,
      none: together
        ? `other groups were refused too: together they send ${String(this.pace.limit)} per 60 s`
        : `no known use of this key explains it: from now on one request every ${seconds(WINDOW_MS / group.size(now))}`,
    };
    const wait = seconds(group.pausedUntil - now);
    return {
      kind: 'refused',
      group: group.name,
      message: `429 on ${answer.route} (group ${group.name}): ${consequences[cause ?? 'none']}; waiting ${wait}`,
    };
  }

  /** @returns whether all groups share a pace from now on, or a slower one */
  #learnTogether(group: GroupBudget, used: number, now: number): boolean {
    const before = this.#refusal;
    this.#refusal = { group, at: now, used };
    const isRecent = before !== undefined && before.at + COMMON_LIMIT.withinMs > now;
    const another = isRecent && before.group !== group ? before : undefined;
    if (another === undefined && !this.pace.isOn(now)) return false;
    // Our share of the slots in use at the first refusal, and not less than each of them may use alone.
    const inUse = another === undefined ? this.pace.from : Math.floor(this.#share * another.used);
    const from = Math.max(inUse, ...[group, another?.group ?? group].map((each) => each.grantedShare(now)));
    this.pace.learn(from, now, COMMON_LIMIT.lastsMs);
    this.#learntAt = now;
    this.pausedUntil = Math.max(this.pausedUntil, group.pausedUntil);
    return true;
  }

  /** After a paced hour the careful start begins again. */
  #endPaces(now: number): void {
    for (const { pace } of [this, ...Object.values(this.groups)]) {
      if (pace.isOn(now) || pace.from === Infinity) continue;
      pace.from = Infinity;
      this.accepted = 0;
    }
  }

  #inFlight(): number {
    return Object.values(this.groups).reduce((sum, { log }) => sum + log.inFlight, 0);
  }

  #used(now: number): number {
    return Object.values(this.groups).reduce((sum, { log }) => sum + log.used(now), 0);
  }

  /** @param waiting tasks of a group that wait for a slot */
  snapshot(now: number, waiting: (group: RateGroup) => number) {
    const groups = Object.values(this.groups).map((group) => {
      const [why, until] = this.#boundOf(group, now);
      return {
        group: group.name,
        /** The service's limit for 60 s, as far as known. */
        limit: group.limit(now),
        /** Requests in 60 s that this budget allows itself, after share, other users and 429s. */
        size: Math.min(group.size(now), this.pace.isOn(now) ? this.pace.limit : Infinity),
        /** Why `size` is less than our share of the specification's limit, one clause, and for how long, if known. */
        why,
        forMs: until === undefined ? undefined : until - now,
        used: group.log.used(now),
        waiting: waiting(group.name),
        /** Requests of other users of the key in the last window. */
        foreignUse: group.others.highest(now),
        sent: group.log.sent,
        /** Answers with status 429 since this budget was made. */
        refused: group.refusals,
      };
    });
    return { groups };
  }

  /** Which limit counts in place of our share of the specification's, and until when. */
  #boundOf(group: GroupBudget, now: number): readonly [why?: string, until?: number] {
    const paused = Math.max(group.pausedUntil, this.pace.isOn(now) ? this.pausedUntil : -Infinity);
    if (paused > now) return ['waiting after a 429', paused];
    if (this.pace.isOn(now)) {
      const why = `429s in two groups show a limit over all endpoints: together they send ${String(this.pace.limit)} a minute`;
      return [why, this.pace.until];
    }
    if (group.othersUse(now) > 0 && group.size(now) < group.shared(now)) {
      return [`other programs use ${String(group.othersUse(now))} of ${String(group.limits.named(now))}`];
    }
    if (group.pace.isOn(now)) {
      const each = seconds(WINDOW_MS / group.size(now));
      return [`one request every ${each} after a 429`, group.pace.until];
    }
    const [limit, granted] = [group.limit(now), defaultLimit(group.name)];
    return limit < granted ? [`the service allows ${String(limit)} instead of ${String(granted)}`] : [];
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
