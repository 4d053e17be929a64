import { describe, expect, it } from 'vitest';
import { compareItems } from '../../../../src/operate/compare-rows.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';
import { deleteAllBut } from '../../../support/mirror/deleting.ts';
import { itemsOf, type MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();
const BIG = '9223372036854775807';

/** Rows of the view, and after them what data_quality counts of the account. */
const stale = async (account: MirroredAccount): Promise<unknown[]> => [
  ...(await account.rowsOf(
    'collection, key, since <= clock_timestamp() as since, reason',
    'mirror.stale_rows',
  )),
  ...(await account.rowsOf('coalesce(sum(stale_rows), 0)', 'mirror.data_quality')),
];
const NONE = ['0'];

/** How `verify` finds one item and its row. */
async function compared(account: MirroredAccount, name: CollectionName, item: string, parent = '') {
  const rules = { ignore: new Set<string>(), exclude: new Set<string>() };
  const items = itemsOf(name, `[${item}]`);
  const unequal = await compareItems(account.database.db, account.scope(name, parent), items, rules);
  return unequal.map(({ kind, stale: isStale, fields }) => ({
    kind,
    stale: isStale === true,
    fields: fields.map(({ name: field }) => field),
  }));
}

describe('a row whose newer version Postgres refuses', () => {
  it.each([
    ['research_jobs', '', '{"job_id":7', '7'],
    ['research_jobs', '', `{"job_id":${BIG}`, BIG],
    ['bulk_research_jobs', '', '{"bulk_job_id":7', '7'],
    ['lists', '', '{"list_id":7', '7'],
    ['list_items', '7', '{"id":"a:b"', '7:a:b'],
    ['watchlist', '', '{"id":"99999999999999999999"', '99999999999999999999'],
    ['account', '', '{"user_id":1', undefined],
  ] as const)(
    '%s %s%s stays live and is named until Postgres accepts it',
    async (name, parent, begun, key) => {
      const account = await newAccount();
      const write = (item: string): Promise<unknown> =>
        name === 'account' ? account.single(item) : account.page(name, `[${item}]`, { parent });
      await write(`${begun}}`);
      await account.query(
        `alter table mirror.${name} add column if not exists dba text;
       update mirror.${name} set dba = 'x';
       alter table mirror.${name} alter column dba set not null`,
      );
      const newer = `${begun},"note":"new"}`;
      try {
        await write(newer);
        const [row, counted] = await stale(account);
        expect(row).toMatch(/ true is refused by Postgres: .* \(23502\)$/);
        expect([row, counted]).toEqual([
          expect.stringContaining(`${name} ${key ?? account.fence.userId} `),
          '1',
        ]);
        const fields = expect.arrayContaining(['_hash', '_raw.note']) as string[];
        const found = await compared(account, name, newer, parent);
        expect(found).toEqual([{ kind: 'different', stale: true, fields }]);
        expect(await account.rowsOf('1', `mirror.${name}_live`)).toHaveLength(1);
        // The earlier version is back: nothing is stale.
        await write(`${begun}}`);
        expect(await stale(account)).toEqual(NONE);
        await write(newer);
        expect((await stale(account)).at(-1)).toBe('1');
      } finally {
        await account.query(`alter table mirror.${name} alter column dba drop not null`);
      }
      await write(newer);
      expect(await stale(account)).toEqual(NONE);
      expect(await compared(account, name, newer, parent)).toEqual([]);
    },
  );

  it('is different even if Postgres can’t compare it', async () => {
    const account = await newAccount();
    const newer = '{"job_id":1,"ratio":1e400000}';
    await account.page('research_jobs', '[{"job_id":1,"ratio":1}]');
    await account.page('research_jobs', `[${newer},{"job_id":2,"ratio":1e400000}]`);
    expect(await compared(account, 'research_jobs', newer)).toEqual([
      { kind: 'different', stale: true, fields: ['_raw'] },
    ]);
    // The other item has no row.
    expect(await compared(account, 'research_jobs', newer.replace('1', '2'))).toMatchObject([
      { kind: 'quarantined', stale: false },
    ]);
    expect((await stale(account)).at(-1)).toBe('1');
    await deleteAllBut(account, 'research_jobs', '[]');
    expect(await stale(account)).toEqual(NONE);
  });

  it('is not assumed if the item has no usable key or the key of no row', async () => {
    const account = await newAccount();
    await account.page('research_jobs', '[{"job_id":1},{"status":"no ID"},{"job_id":5,"ratio":1e400000}]');
    await account.query(`
      insert into mirror.quarantine (_user_id, collection, item_hash, item, key, reason, first_seen_at, last_seen_at)
      select ${account.fence.userId}, 'research_jobs', n::text::bytea, '{}', n, 'x', now(), now()
      from unnest('{9999999999999999999,x,-,1.0}'::text[]) as n`);
    expect(await stale(account)).toEqual(NONE);
  });
});
