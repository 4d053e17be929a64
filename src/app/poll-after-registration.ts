import { type Config, NEVER } from '../config/config.ts';
import type { AccountService } from '../sync/account-service.ts';
import type { RegistrationNews } from '../webhooks/registration/registrar.ts';

/** An account of this process. */
interface PolledAccount {
  readonly userId: string;
  current(): { readonly service: Pick<AccountService, 'pollDue'> } | undefined;
}

/**
 * What changed between the last poll and a registration was announced to nobody: without a poll right after it, it
 * would wait for the cron line, which who relies on events sets to run seldom. Collections that are never polled stay so.
 */
export function pollAfterRegistration(
  { collections, cron }: Pick<Config, 'collections' | 'cron'>,
  accounts: readonly PolledAccount[],
  { userId, renewed }: Pick<RegistrationNews, 'userId' | 'renewed'>,
): void {
  if (!renewed) return;
  const account = accounts.find((each) => each.userId === userId)?.current();
  for (const name of collections) {
    if (cron[name].poll !== NEVER) account?.service.pollDue(name);
  }
}
