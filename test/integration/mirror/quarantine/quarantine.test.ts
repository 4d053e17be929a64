import { beforeEach, describe, expect, it } from 'vitest';
import { beginFull } from '../../../../src/walk/full.ts';
import { newMemory } from '../../../../src/walk/memory.ts';
import type { GivenPage } from '../../../support/mirror/page-record.ts';
import { quarantinedTexts } from '../../../../src/operate/quarantine.ts';
import { itemHash, KEPT } from '../../../../src/mirror/quarantine.ts';
import { type MirroredAccount, noFields } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const makeAccount = testAccounts();

const bad = (key: number, more = ''): string => `{"job_id":${key},"ratio":1e400000${more}}`;

/** A page that was read this many minutes ago. */
const ago = (minutes: number) => ({ sentAgo: minutes * 60_000 });

let account: MirroredAccount;
beforeEach(async () => {
  account = await makeAccount();
});

const kept = (of = account): Promise<readonly string[]> =>
  of.rowsOf('item', 'mirror.quarantine', 'order by item');
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
    await account.query(
      `update mirror.quarantine set last_seen_at = now() - interval '59 minutes'
       where _user_id = ${account.fence.userId}`,
    );
    await write(left, wholeWalk());
    expect(await quality()).toEqual(['990 20']);
    await write(left);
    expect(await quality()).toEqual(['990 0']);
    expect(await kept()).toEqual(many.slice(30).toSorted());
  });
});
