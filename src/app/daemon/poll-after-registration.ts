import { type Config, NEVER } from '../../config/config.ts';
import { COLLECTIONS_WITH_EVENTS } from '../../db/webhook/stored-event-coverage.ts';
import type { AccountService } from '../../sync/account/account-service.ts';
import type { RegistrationNews } from '../../webhooks/registration/registrar.ts';

/** An account of this process. */
interface PolledAccount {
  readonly userId: string;
  current(): { readonly service: Pick<AccountService, 'pollDue'> } | undefined;
}

/**
 * What changed between the last poll and a registration was announced to nobody: without a poll right after it, it
 * would wait for the cron line, which who relies on events sets to run seldom. Collections that are never polled stay so.
 * Where it is in doubt whether events are understood, what they announce is read: only that tells, so there is no never.
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
