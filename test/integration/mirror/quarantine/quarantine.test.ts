import { beforeEach, describe, expect, it } from 'vitest';
import { beginFull } from '../../../../src/walk/full.ts';
import { newMemory } from '../../../../src/walk/memory.ts';
import type { GivenPage } from '../../../support/mirror/page-record.ts';
import { quarantinedTexts } from '../../../../src/operate/quarantine.ts';
import { compareItems } from '../../../../src/operate/compare-rows.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';
import { deleteAllBut } from '../../../support/mirror/deleting.ts';
import { itemHash, KEPT } from '../../../../src/mirror/quarantine.ts';
import { itemsOf, type MirroredAccount, noFields } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const makeAccount = testAccounts();

const bad = (key: number, more = ''): string => `{"job_id":${key},"ratio":1e400000${more}}`;

/** A page that was read this many minutes ago. */
const ago = (minutes: number) => ({ sentAgo: minutes * 60_000 });

let account: MirroredAccount;
beforeEach(async () => {
  account = await makeAccount();
});

const kept = (of = account): Promise<readonly string[]> => of.rowsOf('item', 'mirror.quarantine', 'order by item');
/** Writes a page of jobs. */
const write = (page: string, more: Parameters<MirroredAccount['page']>[2] = {}) =>
  account.page('research_jobs', page, more);

/** The last page of a full walk that has seen no other item in quarantine. */
function wholeWalk(): GivenPage {
  const now = Date.now();
  return {
    walk: beginFull(newMemory('bigint'), { liveRows: 0, now }).walk,
    startedAt: new Date(now),
    badItems: new Set(),
    end: { type: 'end', outcome: 'complete' },
  };
}

describe('the quarantine', () => {
  it('has no excluded field, even of items without key', async () => {
    const excludeFields = { ...noFields(), research_jobs: ['secret'] };
    const account = await makeAccount({ excludeFields });
    await account.page('research_jobs', `[${bad(1, ',"secret":"s1"')},{"secret":"s2","status":"no ID"}]`);
    expect(await kept(account)).toEqual(['{"job_id":1,"ratio":1e400000}', '{"status":"no ID"}']);
    // Another value of an excluded field is not another item.
    await account.page('research_jobs', `[${bad(1, ',"secret":"other"')}]`);
    expect(await kept(account)).toHaveLength(2);
  });

  it('loses an item when its key comes with content that can be mirrored, changed or not', async () => {
    await write('[{"job_id":1,"ratio":1},{"job_id":2,"ratio":1}]');
    await write(`[${bad(1)},${bad(2)}]`);
    expect(await kept()).toHaveLength(2);
    // As stored before, and with other content.
    await write('[{"job_id":1,"ratio":1},{"job_id":2,"ratio":3}]');
    expect(await kept()).toEqual([]);
  });

  it('keeps an item while its key comes with content that is not believed yet', async () => {
    await write('[{"job_id":1,"ratio":1}]');
    await write('[{"job_id":1,"ratio":2}]');
    await write(`[${bad(1)}]`);
    // The content was superseded a moment ago: the page may be stale.
    const stale = await write('[{"job_id":1,"ratio":1}]');
    expect(stale).toMatchObject({ outcomes: ['deferred'] });
    expect(await kept()).toEqual([bad(1)]);
  });

  it('costs an unchanged page nothing', async () => {
    const page = `[{"job_id":1},${bad(2)},{"status":"no ID"}]`;
    await write(page);
    const versions = () => account.rowsOf('q.xmin::text || q.ctid', 'mirror.quarantine as q');
    const before = await versions();
    await write(page);
    expect(await versions()).toEqual(before);
  });

  it('says when an item was seen, not when it was retried', async () => {
    await write(`[${bad(1)}]`, ago(300));
    const hours = `round(extract(epoch from now() - last_seen_at) / 3600)::int, reason = 'x' as old`;
    const seen = () => account.rowsOf(hours, 'mirror.quarantine');
    expect(await seen()).toEqual(['5 false']);
    await write(`[${bad(1)}]`, ago(300));
    expect(await seen()).toEqual(['5 false']);
    await write(`[${bad(1)}]`);
    expect(await seen()).toEqual(['0 false']);
    // Retried with another outcome: the reason is new, the last sighting stays.
    await account.query(`update mirror.quarantine set reason = 'x' where _user_id = ${account.fence.userId}`);
    await write(`[${bad(1)}]`, ago(300));
    expect(await seen()).toEqual(['0 false']);
  });
});

describe('the quarantine of a source that changes', () => {
  const TOP = { where: { after: null, ends: false } } as const;
  const keyless = (n: number): string => `{"status":"no ID ${n}"}`;

  it('has one row for each key, however often its item changes', async () => {
    for (const n of [1, 2, 3, 2]) await write(`[${bad(1, `,"n":${n}`)},${bad(2)}]`);
    expect(await kept()).toEqual([bad(1, ',"n":2'), bad(2)]);
  });

  it('loses an item without key when a page shows its place without it, but not at once', async () => {
    const without = '[{"job_id":9},{"job_id":8}]';
    await write(`[{"job_id":9},${keyless(1)},{"job_id":8},${keyless(2)}]`, {
      ...TOP,
      ...ago(30),
    });
    // A page says nothing about what follows its last item.
    await write(without, { ...TOP, ...ago(30) });
    expect(await kept()).toHaveLength(2);
    await write(without, TOP);
    expect(await kept()).toEqual([keyless(2)]);
    await write(without, { where: { after: null, ends: true } });
    expect(await kept()).toEqual([]);
  });

  it('loses items that a complete reading did not see, and keeps those seen a moment before', async () => {
    await write(`[${bad(1)},${keyless(1)}]`, ago(30));
    await write(`[${bad(2)},${keyless(2)}]`);
    await write(`[${bad(3)}]`, wholeWalk());
    expect(await kept()).toEqual([bad(2), bad(3), keyless(2)]);
  });

  it('keeps a limited number of texts, counts the other items, and adds their texts when there is room', async () => {
    const many = Array.from({ length: KEPT.items + 20 }, (_, n) => keyless(n));
    const counts = 'quarantined_items, quarantined_without_text';
    const quality = () => account.rowsOf(counts, 'mirror.data_quality', `and collection = 'research_jobs'`);
    await write('[{"job_id":9000}]');
    await write(`[${many.join()}]`);
    expect(await quality()).toEqual(['1020 20']);
    const texts = await kept();
    expect(texts.filter((text) => text === '')).toHaveLength(20);
    expect(await quarantinedTexts(account.database.db, itemHash(many.at(-1) ?? ''))).toEqual([null]);
    // The first 30 are gone, and there is room for the last ones.
    const left = `[${many.slice(30).join()}]`;
    await account.query(`update mirror.quarantine set last_seen_at = now() - interval '59 minutes'
       where _user_id = ${account.fence.userId}`);
    await write(left, wholeWalk());
    expect(await quality()).toEqual(['990 20']);
    await write(left);
    expect(await quality()).toEqual(['990 0']);
    expect(await kept()).toEqual(many.slice(30).toSorted());
  });
});

const BIG = '9223372036854775807';

/** Rows of the view, and after them what data_quality counts of the account. */
const stale = async (): Promise<unknown[]> => [
  ...(await account.rowsOf('collection, key, since <= clock_timestamp() as since, reason', 'mirror.stale_rows')),
  ...(await account.rowsOf('coalesce(sum(stale_rows), 0)', 'mirror.data_quality')),
];
const NONE = ['0'];

/** How `verify` finds one item and its row. */
async function compared(name: CollectionName, item: string, parent = '') {
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
  ] as const)('%s %s%s stays live and is named until Postgres accepts it', async (name, parent, begun, key) => {
    const write = (item: string): Promise<unknown> =>
      name === 'account' ? account.single(item) : account.page(name, `[${item}]`, { parent });
    await write(`${begun}}`);
    await account.query(`alter table mirror.${name} add column if not exists dba text;
       update mirror.${name} set dba = 'x';
       alter table mirror.${name} alter column dba set not null`);
    const newer = `${begun},"note":"new"}`;
    try {
      await write(newer);
      const [row, counted] = await stale();
      expect(row).toMatch(/ true is refused by Postgres: .* \(23502\)$/);
      expect([row, counted]).toEqual([expect.stringContaining(`${name} ${key ?? account.fence.userId} `), '1']);
      const fields = expect.arrayContaining(['_hash', '_raw.note']) as string[];
      const found = await compared(name, newer, parent);
      expect(found).toEqual([{ kind: 'different', stale: true, fields }]);
      expect(await account.rowsOf('1', `mirror.${name}_live`)).toHaveLength(1);
      // The earlier version is back: nothing is stale.
      await write(`${begun}}`);
      expect(await stale()).toEqual(NONE);
      await write(newer);
      expect((await stale()).at(-1)).toBe('1');
    } finally {
      await account.query(`alter table mirror.${name} alter column dba drop not null`);
    }
    await write(newer);
    expect(await stale()).toEqual(NONE);
    expect(await compared(name, newer, parent)).toEqual([]);
  });

  it('is different even if Postgres can’t compare it', async () => {
    const newer = '{"job_id":1,"ratio":1e400000}';
    await account.page('research_jobs', '[{"job_id":1,"ratio":1}]');
    await account.page('research_jobs', `[${newer},{"job_id":2,"ratio":1e400000}]`);
    expect(await compared('research_jobs', newer)).toEqual([{ kind: 'different', stale: true, fields: ['_raw'] }]);
    // The other item has no row.
    expect(await compared('research_jobs', newer.replace('1', '2'))).toMatchObject([
      { kind: 'quarantined', stale: false },
    ]);
    expect((await stale()).at(-1)).toBe('1');
    await deleteAllBut(account, 'research_jobs', '[]');
    expect(await stale()).toEqual(NONE);
  });

  it('is not assumed if the item has no usable key or the key of no row', async () => {
    await account.page('research_jobs', '[{"job_id":1},{"status":"no ID"},{"job_id":5,"ratio":1e400000}]');
    await account.query(`
      insert into mirror.quarantine (_user_id, collection, item_hash, item, key, reason, first_seen_at, last_seen_at)
      select ${account.fence.userId}, 'research_jobs', n::text::bytea, '{}', n, 'x', now(), now()
      from unnest('{9999999999999999999,x,-,1.0}'::text[]) as n`);
    expect(await stale()).toEqual(NONE);
  });
});
