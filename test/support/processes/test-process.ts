import { failureLog } from '../../../src/account/failure-log.ts';
import { createProcess, type MirrorProcess } from '../../../src/account/process.ts';
import { type Clock, systemClock } from '@research-mirror/runtime/clock';
import type { TestAccount } from '../sync/read-account.ts';

/** The daemon's process as it is composed, for the account's service and database. */
export function createTestProcess(
  { config, parts, database }: TestAccount,
  clock: Clock = systemClock,
): Promise<MirrorProcess> {
  const { db, url } = database;
  return createProcess({
    command: 'start',
    config,
    mirror: {
      db,
      urgentDb: db,
      heartbeatDb: db,
      viewersDb: db,
      beside: () => db,
      direct: { url, program: 'tests' },
      words: 'a test',
      waiting: undefined,
      close: () => Promise.resolve(),
    },
    clock,
    log: parts.log,
    scrub: (text) => text,
    hide: () => {},
    failures: failureLog(parts.log, clock, 'daemon'),
    observers: [],
  });
}
