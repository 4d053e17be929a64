import { beforeEach, describe, expect, it } from 'vitest';
import { beginFull } from '../../../../src/walk/full.ts';
import { newMemory } from '../../../../src/walk/memory.ts';
import type { GivenPage } from '../../../support/mirror/page-record.ts';
import { quarantinedTexts } from '../../../../src/operate/quarantine.ts';
import { itemHash, KEPT } from '../../../../src/mirror/quarantine.ts';
import { lines } from '../../../support/mirror/lines.ts';
import { type MirroredAccount, noFields } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const makeAccount = testAccounts();

const bad = (key: number, more = ''): string => `{"job_id":${key},"ratio":1e400000${more}}`;

const kept = (account: MirroredAccount): Promise<readonly string[]> =>
  lines(account, `select item from mirror.quarantine where _user_id = ${account.fence.userId} order by item`);

/** A page that was read this many minutes ago. */
const ago = (minutes: number) => ({ sentAgo: minutes * 60_000 });

let account: MirroredAccount;
beforeEach(async () => {
  account = await makeAccount();
});

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
    await account.page('research_jobs', '[{"job_id":1,"ratio":1},{"job_id":2,"ratio":1}]');
    await account.page('research_jobs', `[${bad(1)},${bad(2)}]`);
    expect(await kept(account)).toHaveLength(2);
    // As stored before, and with other content.
    await account.page('research_jobs', '[{"job_id":1,"ratio":1},{"job_id":2,"ratio":3}]');
    expect(await kept(account)).toEqual([]);
  });

  it('keeps an item while its key comes with content that is not believed yet', async () => {
    await account.page('research_jobs', '[{"job_id":1,"ratio":1}]');
    await account.page('research_jobs', '[{"job_id":1,"ratio":2}]');
    await account.page('research_jobs', `[${bad(1)}]`);
    // The content was superseded a moment ago: the page may be stale.
    const stale = await account.page('research_jobs', '[{"job_id":1,"ratio":1}]');
    expect(stale).toMatchObject({ outcomes: ['deferred'] });
    expect(await kept(account)).toEqual([bad(1)]);
  });

  it('costs an unchanged page nothing', async () => {
    const page = `[{"job_id":1},${bad(2)},{"status":"no ID"}]`;
    await account.page('research_jobs', page);
    const versions = `select q.xmin::text || q.ctid as v from mirror.quarantine q where _user_id = ${account.fence.userId} order by 1`;
    const before = await account.query(versions);
    await account.page('research_jobs', page);
    expect(await account.query(versions)).toEqual(before);
  });

  it('says when an item was seen, not when it was retried', async () => {
    await account.page('research_jobs', `[${bad(1)}]`, ago(300));
    const where = `where _user_id = ${account.fence.userId}`;
    const seen = () =>
      lines(
        account,
        `select round(extract(epoch from now() - last_seen_at) / 3600)::int, reason = 'x' as old from mirror.quarantine ${where}`,
      );
    expect(await seen()).toEqual(['5 false']);
    await account.page('research_jobs', `[${bad(1)}]`, ago(300));
    expect(await seen()).toEqual(['5 false']);
    await account.page('research_jobs', `[${bad(1)}]`);
    expect(await seen()).toEqual(['0 false']);
    // Retried with another outcome: the reason is new, the last sighting stays.
    await account.query(`update mirror.quarantine set reason = 'x' ${where}`);
    await account.page('research_jobs', `[${bad(1)}]`, ago(300));
    expect(await seen()).toEqual(['0 false']);
  });
});

describe('the quarantine of a source that changes', () => {
  const TOP = { where: { after: null, ends: false } } as const;
  const keyless = (n: number): string => `{"status":"no ID ${n}"}`;

  it('has one row for each key, however often its item changes', async () => {
    for (const n of [1, 2, 3, 2]) await account.page('research_jobs', `[${bad(1, `,"n":${n}`)},${bad(2)}]`);
    expect(await kept(account)).toEqual([bad(1, ',"n":2'), bad(2)]);
  });

  it('loses an item without key when a page shows its place without it, but not at once', async () => {
    const without = '[{"job_id":9},{"job_id":8}]';
    await account.page('research_jobs', `[{"job_id":9},${keyless(1)},{"job_id":8},${keyless(2)}]`, {
      ...TOP,
      ...ago(30),
    });
    // A page says nothing about what follows its last item.
    await account.page('research_jobs', without, { ...TOP, ...ago(30) });
    expect(await kept(account)).toHaveLength(2);
    await account.page('research_jobs', without, TOP);
    expect(await kept(account)).toEqual([keyless(2)]);
    await account.page('research_jobs', without, { where: { after: null, ends: true } });
    expect(await kept(account)).toEqual([]);
  });

  it('loses items that a complete reading did not see, and keeps those seen a moment before', async () => {
    await account.page('research_jobs', `[${bad(1)},${keyless(1)}]`, ago(30));
    await account.page('research_jobs', `[${bad(2)},${keyless(2)}]`);
    await account.page('research_jobs', `[${bad(3)}]`, wholeWalk());
    expect(await kept(account)).toEqual([bad(2), bad(3), keyless(2)]);
  });

  it('keeps a limited number of texts, counts the other items, and adds their texts when there is room', async () => {
    const many = Array.from({ length: KEPT.items + 20 }, (_, n) => keyless(n));
    const quality = () =>
      lines(
        account,
        `select quarantined_items, quarantined_without_text from mirror.data_quality
         where _user_id = ${account.fence.userId} and collection = 'research_jobs'`,
      );
    await account.page('research_jobs', '[{"job_id":9000}]');
    await account.page('research_jobs', `[${many.join()}]`);
    expect(await quality()).toEqual(['1020 20']);
    const texts = await kept(account);
    expect(texts.filter((text) => text === '')).toHaveLength(20);
    expect(await quarantinedTexts(account.database.db, itemHash(many.at(-1) ?? ''))).toEqual([null]);
    // The first 30 are gone, and there is room for the last ones.
    const left = `[${many.slice(30).join()}]`;
    await account.query(
      `update mirror.quarantine set last_seen_at = now() - interval '59 minutes'
       where _user_id = ${account.fence.userId}`,
    );
    await account.page('research_jobs', left, wholeWalk());
    expect(await quality()).toEqual(['990 20']);
    await account.page('research_jobs', left);
    expect(await quality()).toEqual(['990 0']);
    expect(await kept(account)).toEqual(many.slice(30).toSorted());
  });
});

describe('a page', () => {
  it('tries again what Postgres refused for its text, and the next one finds it there', async () => {
    const page = '[{"bulk_job_id":1,"divisor":0}]';
    await account.page('bulk_research_jobs', '[{"bulk_job_id":9,"divisor":1}]');
    await account.query(
      'alter table mirror.bulk_research_jobs add column part numeric generated always as (1 / divisor) stored',
    );
    expect(await account.page('bulk_research_jobs', page)).toMatchObject({ outcomes: ['quarantined'] });
    await account.query('alter table mirror.bulk_research_jobs drop column part');
    expect(await account.page('bulk_research_jobs', page)).toMatchObject({ outcomes: ['inserted'] });
    expect(await account.page('bulk_research_jobs', page)).toMatchObject({ outcomes: ['unchanged'] });
    expect(await kept(account)).toEqual([]);
  });
});
