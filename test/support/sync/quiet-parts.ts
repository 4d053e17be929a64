import { scratchKeys } from '@research-mirror/runtime/testing/scratch-keys';
import { type Clock, systemClock } from '@research-mirror/runtime/clock';
import { createLogger } from '@research-mirror/runtime/logger';
import type { Transport } from '../../../src/service/transport.ts';
import { createSchedule } from '../../../src/sync/schedule.ts';
import { type Account, openAccount } from '../../../src/account/account.ts';
import type { ProcessContext } from '../../../src/account/process.ts';
import { failureLog } from '../../../src/account/failure-log.ts';
import type { ServiceConfig } from '../../../src/config/config.ts';
import type { Db } from '../../../src/postgres/db.ts';
import { OwnedAccounts, takeAccount } from '../../../src/postgres/lease.ts';
import { ownIdentity } from '../../../src/postgres/heartbeat.ts';
import { readingStarts } from '../../../src/account/reading-loops.ts';

export const SILENT_LOG = createLogger(
  { write: () => {} },
  { level: 'silent', format: 'json', colour: false, scrub: String },
);

/**
 * What the daemon opens accounts with, where no other process has to do with them, and no request is repeated at once:
 * a retry waits for nothing.
 */
export async function quietParts(
  config: ServiceConfig,
  db: Db,
  transport: Transport,
  clock: Clock = systemClock,
): Promise<ProcessContext> {
  return {
    config,
    db,
    urgentDb: db,
    processId: 'tests',
    identity: await ownIdentity(),
    log: SILENT_LOG,
    failures: failureLog(SILENT_LOG, clock, 'daemon'),
    observers: [],
    owned: new OwnedAccounts(),
    starts: readingStarts(clock),
    schedule: createSchedule(config),
    clock,
    keys: scratchKeys,
    link: {
      transport,
      share: 1,
      clock,
      random: () => 0,
      scrub: (text) => text,
      onExchange: () => {},
      onBudgetEvent: () => {},
    },
    onChanged: () => {},
    ownsUntil: () => Number.POSITIVE_INFINITY,
    interruptedAt: () => Number.NEGATIVE_INFINITY,
    hasOthers: () => false,
    onReleased: () => Promise.resolve(),
    hide: () => {},
    onSubmission: () => {},
    onRegistered: () => {},
    whyAstray: () => Promise.resolve(undefined),
  };
}

/** Takes an account that is free, and opens it. */
export async function takeAndOpen(parts: ProcessContext, userId: string): Promise<Account> {
  const taken = await takeAccount(parts.db, userId, parts.processId, parts.identity);
  if (taken.state !== 'taken') throw new Error('the account is not free');
  return openAccount(parts, taken.fence, parts.config.service.keys);
}
