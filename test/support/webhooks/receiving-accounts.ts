import type { EventSink } from '../../../src/events/event-store.ts';
import type { VerifiedEvent } from '../../../src/events/read-event.ts';
import type { ReceivingAccounts, StoredSecrets } from '../../../src/events/receiving-accounts.ts';
import { SECRET } from './signing.ts';

/** Secrets that have been there for long. */
export function storedSecrets(more: Partial<StoredSecrets> = {}): StoredSecrets {
  return {
    current: { secret: SECRET, since: new Date(0) },
    previous: undefined,
    state: 'registered',
    now: new Date(86_400_000),
    ...more,
  };
}

/** Accounts in memory: what a receiver knows of them, and what it called. */
export class MemoryAccounts implements ReceivingAccounts {
  /** By account. */
  readonly known = new Map<string, StoredSecrets>();
  /** What only a fresh reading shows. */
  readonly fresh = new Map<string, StoredSecrets>();
  /** False: no ping has named any account. */
  pinged = true;
  readonly calls: string[] = [];

  secretsOf(userId: string, fresh: boolean): Promise<StoredSecrets | 'none' | 'unknown-yet'> {
    const secrets = (fresh ? this.fresh.get(userId) : undefined) ?? this.known.get(userId);
    return Promise.resolve(secrets ?? (this.pinged ? 'none' : 'unknown-yet'));
  }

  verified(userId: string, secret: string): Promise<void> {
    const { current, previous } = this.fresh.get(userId) ?? this.known.get(userId) ?? {};
    const which = secret === current?.secret ? 'current' : secret === previous?.secret && 'previous';
    this.calls.push(`${userId}: ${which}`);
    return Promise.resolve();
  }

  mismatched(userId: string): Promise<void> {
    this.calls.push(`${userId}: mismatch`);
    return Promise.resolve();
  }
}

/** A sink in memory. */
export class MemorySink implements EventSink {
  readonly events = new Map<string, VerifiedEvent>();
  /** What storing waits for. */
  until: Promise<void> = Promise.resolve();

  async store(userId: string, event: VerifiedEvent): Promise<'stored' | 'known'> {
    await this.until;
    const key = `${userId}/${event.id}`;
    if (this.events.has(key)) return 'known';
    this.events.set(key, event);
    return 'stored';
  }
}
