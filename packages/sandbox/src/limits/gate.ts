import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { meter, type Meter } from './meter.ts';

/** Endpoint groups of specification 8.2. */
export type Group = 'clay' | 'research' | 'heavy' | 'sequence' | 'other';

export interface Verdict {
  readonly allowed: boolean;
  /** What `X-RateLimit-Limit` and `-Remaining` say; the limit is UNLIMITED where it is lifted. */
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds from now. */
  readonly resetIn: number;
  readonly acceptsIn: number;
}

/** Shown as the limit where there is none. */
const UNLIMITED = 1_000_000;

const LIMIT_OF = {
  clay: 'limitClay',
  research: 'limitResearch',
  heavy: 'limitHeavy',
  sequence: 'limitSequence',
  other: 'limitOther',
} as const satisfies Record<Group, keyof SandboxOptions>;

/** What the headers say where no key is known, so that nothing is counted. */
export function unusedVerdict(group: Group, options: SandboxOptions): Verdict {
  const own = options[LIMIT_OF[group]];
  const limit = options.limits === 'off' || own === 'off' ? UNLIMITED : own;
  return { allowed: true, limit, remaining: limit, resetIn: 0, acceptsIn: 0 };
}

/** Admits or refuses the requests of all keys. */
export class Gate {
  readonly #meters = new Map<string, Meter>();

  /**
   * Judges one request and counts it: an accepted one always, a refused one only where `countRefused` says so.
   * @param now milliseconds of a monotonic clock
   */
  admit(key: string, group: Group, route: string, options: SandboxOptions, now: number): Verdict {
    const own = options[LIMIT_OF[group]];
    const lifted = options.limits === 'off' || own === 'off';
    const limit = lifted ? UNLIMITED : own;
    const place = options.limitScope === 'group' ? group : route;
    const groupMeter = lifted ? undefined : this.#meter(`${key} ${place}`, options);
    const globalLimit = options.limits === 'off' ? 'off' : options.limitGlobal;
    const globalMeter = globalLimit === 'off' ? undefined : this.#meter(`${key} *`, options);

    const free = groupMeter?.free(limit, now) ?? UNLIMITED;
    const globallyFree = globalLimit === 'off' ? UNLIMITED : (globalMeter?.free(globalLimit, now) ?? 0);
    const allowed = free > 0 && globallyFree > 0;
    const acceptsIn = Math.max(
      groupMeter?.acceptsIn(limit, now) ?? 0,
      globalLimit === 'off' ? 0 : (globalMeter?.acceptsIn(globalLimit, now) ?? 0),
    );
    if (allowed || options.countRefused === 'on') {
      groupMeter?.count(limit, now);
      if (globalLimit !== 'off') globalMeter?.count(globalLimit, now);
    }
    const remaining = groupMeter?.free(limit, now) ?? UNLIMITED;
    return { allowed, limit, remaining, resetIn: groupMeter?.resetIn(limit, now) ?? 0, acceptsIn };
  }

  /** Forgets all that was counted. */
  clear(): void {
    this.#meters.clear();
  }

  #meter(name: string, options: SandboxOptions): Meter {
    const full = `${options.limiter} ${name}`;
    let found = this.#meters.get(full);
    if (found === undefined) {
      found = meter(options.limiter);
      this.#meters.set(full, found);
    }
    return found;
  }
}
