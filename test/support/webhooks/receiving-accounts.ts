import type { EventSink } from '../../../src/events/event-store.ts';
import type { VerifiedEvent } from '../../../src/events/read-event.ts';
import type { ReceivingAccounts, StoredSecrets } from '../../../src/events/receiving-accounts.ts';
import { SECRET } from './signing.ts';

/** Secrets that have been there for long. */
export const storedSecrets = (more: Partial<StoredSecrets> = {}): StoredSecrets => ({
  current: { secret: SECRET, since: new Date(0) },
  previous: undefined,
  state: 'registered',
  now: new Date(86_400_000),
  ...more,
});

/** Accounts in memory, at first one: what a receiver knows of them, and what it called. */
export class MemoryAccounts implements ReceivingAccounts {
  readonly known = new Map([['42', storedSecrets()]]);
  /** What only a fresh reading shows. */
  readonly fresh = new Map<string, StoredSecrets>();
  /** False: no ping has named any account. */
  pinged = true;
  readonly calls: string[] = [];

  async secretsOf(userId: string, fresh: boolean) {
    const secrets = (fresh ? this.fresh.get(userId) : undefined) ?? this.known.get(userId);
    return secrets ?? (this.pinged ? ('none' as const) : ('unknown-yet' as const));
  }

  async verified(userId: string, secret: string): Promise<void> {
    const { current, previous } = this.fresh.get(userId) ?? this.known.get(userId) ?? {};
    const which = secret === current?.secret ? 'current' : secret === previous?.secret && 'previous';
    this.calls.push(`${userId}: ${which}`);
  }

  async mismatched(userId: string): Promise<void> {
    this.calls.push(`${userId}: mismatch`);
  }
}

/** A sink in memory. */
export class MemorySink implements EventSink {
  readonly events = new Map<string, VerifiedEvent>();
  /** What storing waits for. */
  until: Promise<void> = Promise.resolve();

  async store(userId: string, event: VerifiedEvent) {
    await this.until;
    const key = `${userId}/${event.id}`;
    if (this.events.has(key)) return 'known' as const;
    this.events.set(key, event);
    return 'stored' as const;
  }
}
