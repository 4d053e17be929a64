import { type Answered, FEW, Group, Pace, PROVEN_BY } from './group-budget.ts';
import { defaultLimit, RATE_GROUPS, type RateGroup } from './rate-groups.ts';
import { IN_USE_MS, WINDOW_MS } from './slot-log.ts';
import type { StoredGroup } from './slot-store.ts';

/** The limits that routes name are stored again so often: a next process believes them for an hour. */
const RETOLD_MS = 1_800_000;

/** Two groups that are refused within an hour have a common limit: for a day. */
const TOGETHER = { withinMs: 3_600_000, lastsMs: 86_400_000 } as const;

/** What status page and metrics show of a key's budget. */
export interface BudgetSnapshot {
  readonly groups: readonly GroupSnapshot[];
}

export interface GroupSnapshot {
  readonly group: RateGroup;
  /** The service's limit for 60 s, as far as known. */
  readonly limit: number;
  /** Requests in 60 s that this budget allows itself, after share, other users and 429s. */
  readonly size: number;
  /** Why that is not its share of the limit of the specification or above, one clause; undefined: it is. */
  readonly why: string | undefined;
  /** Milliseconds until that is over; undefined: nobody knows. */
  readonly forMs: number | undefined;
  /** Slots in use now. */
  readonly used: number;
  /** Tasks waiting for a slot. */
  readonly waiting: number;
  /** Requests of other users of the key in the last window. */
  readonly foreignUse: number;
  readonly sent: number;
  /** Answers with status 429 since this budget was made. */
  readonly refused: number;
}

/** News for the operator; `message` is one line for the log. */
export interface BudgetEvent {
  readonly kind: 'refused' | 'limit-changed' | 'remaining-ignored';
  readonly group: RateGroup;
  readonly message: string;
}

/**
 * All endpoint groups of one key, and their common rules: careful starts, the window that a key with an unknown past waits
 * out, one pace for all groups. Pure.
 */
export class Key {
  readonly groups: ReadonlyMap<RateGroup, Group>;
  /** One pace for all groups, and until when a 429 stops them all. */
  readonly pace = new Pace();
  pausedUntil = -Infinity;
  /** Answers in a row that were no 429. Until the first one, one request at a time. */
  accepted = 0;
  /** Until then only one request may go, and only in `other`: the past of the key is unknown. */
  quietUntil = -Infinity;
  /** Groups of which the store does not have all that was learnt. */
  readonly changed = new Set<StoredGroup>();
  readonly #share: number;
  #lastSentAt = -Infinity;
  /** When the pace of all was learnt: what was sent before teaches nothing more. */
  #learntAt = -Infinity;
  /** The last 429 that nothing explains, and how many slots of all groups were in use. */
  #refusal: { readonly group: Group; readonly at: number; readonly used: number } | undefined;

  constructor(share: number) {
    this.#share = share;
    this.groups = new Map(RATE_GROUPS.map((name) => [name, new Group(name, share)]));
  }

  group(name: RateGroup): Group {
    const found = this.groups.get(name);
    if (found === undefined) throw new RangeError(`no endpoint group named ${JSON.stringify(name)}`);
    return found;
  }

  get isProven(): boolean {
    return this.accepted >= PROVEN_BY.even;
  }

  /** An earlier process had its requests accepted. */
  prove(): void {
    this.accepted = PROVEN_BY.even;
  }

  /** As for `Group.admission`. */
  admission(name: RateGroup, high: boolean, now: number): number {
    const group = this.group(name);
    if (this.quietUntil > now && (name !== 'other' || group.log.sent > 0)) return this.quietUntil;
    this.#endPaces(now);
    const most = this.accepted === 0 ? 1 : this.accepted < PROVEN_BY.few ? FEW.least : Infinity;
    if (this.#inFlight() >= most) return Infinity;
    if (this.pace.isOn(now)) {
      if (this.pausedUntil > now) return this.pausedUntil;
      if (this.#used(now) >= this.pace.limit)
        return Math.min(...this.groups.values().map((each) => each.log.nextFree(now)));
      const turn = this.#lastSentAt + WINDOW_MS / this.pace.limit;
      if (turn > now) return turn;
    }
    return group.admission(now, high, this.accepted);
  }

  sent(name: RateGroup, now: number, high: boolean): void {
    this.#lastSentAt = now;
    this.group(name).sent(now, high);
  }

  /** @returns what an operator should know */
  judge(name: RateGroup, status: number, answer: Answered): BudgetEvent | undefined {
    const group = this.group(name);
    const now = answer.receivedAt;
    if (status === 429) return this.#refused(group, answer);
    const limitBefore = group.limit(now);
    this.accepted += 1;
    const ignored = group.accepted(answer);
    const limit = group.limit(now);
    if (this.accepted === PROVEN_BY.even) this.changed.add('all');
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

  #refused(group: Group, answer: Answered): BudgetEvent | undefined {
    const now = answer.receivedAt;
    const used = this.#used(now) - this.#inFlight();
    const cause = group.refused(answer);
    this.accepted = 0;
    this.changed.add(group.name).add('all');
    if (this.pace.isOn(now)) this.#pauseAll(group);
    if (cause === 'earlier' || answer.sentAt <= this.#learntAt) return undefined;
    const explained = cause !== undefined;
    const together = !explained && this.#learnTogether(group, used, now);
    if (!together) group.pace.learn(explained ? undefined : group.grantedShare(now), now);
    const consequences = {
      others: 'somebody else uses this key, more is left to them',
      lower: `the service's limit is ${String(group.limit(now))} per 60 s now`,
      none: together
        ? `other groups were refused, too: all together send ${String(this.pace.limit)} per 60 s`
        : `no use of this key explains it, from now on one request each ${seconds(WINDOW_MS / group.size(now))}`,
    };
    const wait = seconds(group.pausedUntil - now);
    return {
      kind: 'refused',
      group: group.name,
      message: `429 on ${answer.route} (group ${group.name}): ${consequences[cause ?? 'none']}; waiting ${wait}`,
    };
  }

  /** @returns whether all groups have one pace from now on, or a slower one */
  #learnTogether(group: Group, used: number, now: number): boolean {
    const before = this.#refusal;
    this.#refusal = { group, at: now, used };
    const another =
      before !== undefined && before.group !== group && before.at + TOGETHER.withinMs > now
        ? before
        : undefined;
    if (another === undefined && !this.pace.isOn(now)) return false;
    // Our share of what was in use when the first one was refused, and not less than each of them may use alone.
    const inUse = another === undefined ? this.pace.from : Math.floor(this.#share * another.used);
    const from = Math.max(inUse, ...[group, another?.group ?? group].map((each) => each.grantedShare(now)));
    this.pace.learn(from, now, TOGETHER.lastsMs);
    this.#learntAt = now;
    this.#pauseAll(group);
    return true;
  }

  #pauseAll(group: Group): void {
    this.pausedUntil = Math.max(this.pausedUntil, group.pausedUntil);
  }

  /** After a paced hour it begins carefully again. */
  #endPaces(now: number): void {
    for (const { pace } of [this, ...this.groups.values()]) {
      if (pace.isOn(now) || pace.from === Infinity) continue;
      pace.from = Infinity;
      this.accepted = 0;
    }
  }

  /** The key was used before, and no rows of it are left: as if its window had just been filled. */
  beQuiet(now: number): void {
    this.quietUntil = now + IN_USE_MS;
  }

  #inFlight(): number {
    return this.#sum((each) => each.log.inFlight);
  }

  #used(now: number): number {
    return this.#sum((each) => each.log.used(now));
  }

  #sum(of: (group: Group) => number): number {
    return this.groups.values().reduce((sum, group) => sum + of(group), 0);
  }

  /** What status page and metrics show. @param waiting tasks of a group that wait */
  snapshot(now: number, waiting: (group: RateGroup) => number): BudgetSnapshot {
    return {
      groups: [...this.groups.values()].map((group) => this.#snapshotOf(group, now, waiting(group.name))),
    };
  }

  #snapshotOf(group: Group, now: number, waiting: number): GroupSnapshot {
    const [why, until] = this.#boundOf(group, now);
    return {
      group: group.name,
      limit: group.limit(now),
      size: Math.min(group.size(now), this.pace.isOn(now) ? this.pace.limit : Infinity),
      why,
      forMs: until === undefined ? undefined : until - now,
      used: group.log.used(now),
      waiting,
      foreignUse: group.others.highest(now),
      sent: group.log.sent,
      refused: group.refusals,
    };
  }

  /** Which limit counts in place of our share of the specification's, and until when. */
  #boundOf(group: Group, now: number): readonly [why?: string, until?: number] {
    const paused = Math.max(group.pausedUntil, this.pace.isOn(now) ? this.pausedUntil : -Infinity);
    if (paused > now) return ['a 429 asked to wait', paused];
    if (this.pace.isOn(now)) {
      const why = `429s in two groups have shown a limit over all endpoints: together they send ${String(this.pace.limit)} a minute`;
      return [why, this.pace.until];
    }
    if (group.othersUse(now) > 0 && group.size(now) < group.shared(now)) {
      return [`others use ${String(group.othersUse(now))} of ${String(group.limits.named(now))}`];
    }
    if (group.pace.isOn(now)) {
      const each = seconds(WINDOW_MS / group.size(now));
      return [`after a 429, one request goes each ${each}`, group.pace.until];
    }
    const [limit, granted] = [group.limit(now), defaultLimit(group.name)];
    return limit < granted ? [`the service names ${String(limit)} in place of ${String(granted)}`] : [];
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
