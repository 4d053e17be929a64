import { earlier } from '../postgres/earlier.ts';
import type { TestAccount } from './read-account.ts';

/**
 * As if the lists that are due had become so a minute earlier. When a request was sent is known to some milliseconds
 * only: a list that became due within them is read once more.
 */
export async function dueEarlier(account: Pick<TestAccount, 'query'>): Promise<void> {
  await account.query(
    `update mirror_sync.scope set due_at = ${earlier('due_at', '1 minute')},
       last_due_at = ${earlier('last_due_at', '1 minute')}`,
  );
}
