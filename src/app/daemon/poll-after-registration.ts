import { type Config, NEVER } from '../../config/config.ts';
import { COLLECTIONS_WITH_EVENTS } from '../../db/webhook/unannounced-changes.ts';
import type { AccountService } from '../../sync/loops/account-service.ts';
import type { RegistrationNews } from '../../webhooks/registration/registrar.ts';

/** An account of this process. */
interface PolledAccount {
  readonly userId: string;
  current(): { readonly service: Pick<AccountService, 'pollDue'> } | undefined;
}

/**
 * Polls an account after its webhook was registered. No event announced what changed between the last poll and the
 * registration, and users of events set cron lines that run seldom. Collections with the cron line `never` are left
 * out. Where events may not be understood (`mistrusted`), all collections that have events are polled, those
 * included: only a poll finds the changes then.
 */
export function pollAfterRegistration(
  { collections, cron }: Pick<Config, 'collections' | 'cron'>,
  accounts: readonly PolledAccount[],
  { userId, renewed, mistrusted }: Pick<RegistrationNews, 'userId' | 'renewed' | 'mistrusted'>,
): void {
  const account = accounts.find((each) => each.userId === userId)?.current();
  for (const name of collections) {
    const reads =
      (renewed && cron[name].poll !== NEVER) || (mistrusted && COLLECTIONS_WITH_EVENTS.includes(name));
    if (reads) account?.service.pollDue(name);
  }
}
