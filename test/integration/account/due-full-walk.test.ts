import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestAccount, type TestAccount } from '../../support/sync/read-account.ts';

let account: TestAccount;
beforeAll(async () => {
  account = await createTestAccount();
});
afterAll(() => account.close());

it.each(['account', 'research_jobs', 'lists', 'list_items'] as const)(
  'a full walk of %s that is due stays due through polls, until one has ended',
  async (name) => {
    const due = new Date('2026-01-01T00:00:00Z');
    const scheduledRuns = async (): Promise<Date | null | undefined> =>
      (
        await account.query<{ next_full_at: Date | null }>(
          `select next_full_at from mirror.freshness where collection = '${name}'`,
        )
      )[0]?.next_full_at;
    await account.read(name, 'full');
    await account.query(
      `update mirror._collections set next_full_at = '${due.toISOString()}' where collection = '${name}'`,
    );
    await account.read(name, 'poll');
    // The account is one object: to read it is to read all of it.
    if (name !== 'account') expect(await scheduledRuns()).toEqual(due);
    await account.read(name, 'full');
    expect(await scheduledRuns()).not.toEqual(due);
  },
);
