import { scratchKeys } from '@research-mirror/runtime/testing/scratch-keys';
import { type Clock, systemClock } from '@research-mirror/runtime/clock';
import { createLogger } from '@research-mirror/runtime/logger';
import type { RunnerContext } from '../../../src/app/accounts/open-account.ts';

export const SILENT_LOG = createLogger(
  { write: () => {} },
  { level: 'silent', format: 'json', colour: false, scrub: String },
);

/** What an account is opened with that no other process or account has to do with. */
export const ALONE = {
  keys: scratchKeys,
  onChanged: () => {},
  ownsUntil: () => Number.POSITIVE_INFINITY,
  interruptedAt: () => Number.NEGATIVE_INFINITY,
  hasOthers: () => false,
  onReleased: () => Promise.resolve(),
  hide: () => {},
  onSubmission: () => {},
  onRegistration: () => {},
  whyAstray: () => Promise.resolve(undefined),
} as const satisfies Partial<RunnerContext>;

/** No request is repeated at once: a retry waits for nothing. */
export function quietLink(
  transport: RunnerContext['link']['transport'],
  clock: Clock = systemClock,
): RunnerContext['link'] {
  return {
    transport,
    share: 1,
    clock,
    random: () => 0,
    scrub: (text) => text,
    onExchange: () => {},
    onBudgetEvent: () => {},
  };
}
