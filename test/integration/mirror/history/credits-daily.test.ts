import { expect, it } from 'vitest';
import { accountsWithHistory } from '../../../support/mirror/accounts-with-history.ts';
import { lines } from '../../../support/mirror/lines.ts';
import type { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';

const scene = accountsWithHistory();

/** Gives the account these credits as of a past moment. */
async function credits(account: MirroredAccount, at: string, amount: string): Promise<void> {
  const { userId } = account.fence;
  await account.page('account', `[{"user_id":${userId},"credits":${amount}}]`);
  const lately = (column: string) => `where _user_id = ${userId} and ${column} > now() - interval '1 minute'`;
  await account.query(`
    update mirror.account set _changed_at = ${at} ${lately('_changed_at')};
    update mirror.account_history set _valid_to = ${at} ${lately('_valid_to')}`);
}

const utc = (daysAgo: number, time: string) =>
  `((now() at time zone 'UTC')::date - ${daysAgo} + time '${time}') at time zone 'UTC'`;

it('adds up decreases and increases by day, and continues over days without a change', async () => {
  const { first, second } = scene;
  await scene.open(first);
  for (const [daysAgo, time, amount] of [
    [3, '00:00', '100.50'],
    [3, '23:59:59', '90'],
    [1, '08:00', '40'],
    [1, '09:00', '200'],
    [1, '10:00', '199.5'],
  ] as const) {
    await credits(first, utc(daysAgo, time), amount);
  }
  await credits(second, utc(0, '00:00'), '"7"');
  const days = `select _user_id, (now() at time zone 'UTC')::date - day as ago, opening, burnt, topped_up, closing
    from mirror.credits_daily order by 1, 2 desc`;
  expect(await lines(first, days)).toEqual([
    '1 3 100.50 10.50 0 90',
    '1 2 90 0 0 90',
    '1 1 90.0 50.5 160 199.5',
    '1 0 199.5 0 0 199.5',
    '2 0 7 0 0 7',
  ]);
});
