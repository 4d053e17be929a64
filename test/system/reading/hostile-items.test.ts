import { HOSTILE_KINDS } from '@research-mirror/sandbox/world/hostile';
import { afterEach, describe, expect, it } from 'vitest';
import { createSystem, type System } from '../../support/processes/system.ts';

let system: System;
afterEach(() => system.close());

const DIGITS = `${'1234567890'.repeat(40)}.5`;

/** Item texts by job ID: what each must become. */
const STORED: Readonly<Record<string, string>> = {
  '901': `{"job_id":901,"status":"completed","remark":"before\\u0000after"}`,
  '902': `{"job_id":902,"status":"completed","remark":"half \\ud83d alone"}`,
  '903': `{"job_id":903,"status":"completed","ratio":${DIGITS}}`,
  '904': `{"job_id":904,"status":"completed","ratio":-0}`,
  '905': `{"job_id":905,"status":"completed","remark":"bell \\u0007 \\u202eturned","status_code":9007199254740993}`,
  '906': `{"job_id":906,"status":{"code":7},"remark":"${'long '.repeat(60_000)}"}`,
  // More than a page may have: it is asked for alone.
  '907': `{"job_id":907,"status":"completed","remark":"${'huge '.repeat(1_900_000)}"}`,
};
const QUARANTINED: readonly string[] = [
  `{"job_id":911,"status":"completed","ratio":1e400000}`,
  `{"status":"completed","remark":"no ID"}`,
  `{"job_id":null,"status":"completed"}`,
  `{"job_id":92233720368547758070000,"status":"completed"}`,
  `{"job_id":"a\\u0000b","status":"completed"}`,
];

describe('items that Postgres or a mirror can’t hold', () => {
  it('are stored as far as they can be, or quarantined alone, and their page goes on', async () => {
    system = await createSystem({ jobs: 50 });
    const { control } = system.sandbox;
    await control.clock({ freeze: true });
    const all = [
      ...Object.entries(STORED),
      ...QUARANTINED.map((source, n) => [String(911 + n), source] as const),
    ];
    await control.mutate(
      ...all.map(([id, source]) => ({ op: 'insert', collection: 'research_jobs', id, source }) as const),
    );
    const truth = await control.truth({ collection: 'research_jobs' });
    expect(truth).toHaveLength(50 + all.length);

    const { collections } = await system.sync(['--full', 'research_jobs']);
    expect(collections).toMatchObject([
      { inserted: 50 + Object.keys(STORED).length, quarantined: QUARANTINED.length, error: null },
    ]);
    const { rows } = await system.db.query<{ id: string; text: string; remark: string | null }>(
      `select job_id as id, coalesce(_verbatim, _raw::text) as text, remark from mirror.research_jobs
       where job_id between 901 and 906 order by 1`,
    );
    const [nul, surrogate, digits, zero, control7] = rows;
    // The verbatim text is kept aside where jsonb had to replace something.
    expect(nul?.text).toBe(STORED['901']);
    expect(surrogate?.text).toBe(STORED['902']);
    expect(digits?.text).toContain(DIGITS);
    expect(zero?.text).toMatch(/"ratio": -?0/);
    expect(control7?.remark).toBe('bell \u0007 \u202eturned');
    expect(control7?.text).toContain('9007199254740993');
    const odd = await system.db.query(
      'select status, length(remark) as length from mirror.research_jobs where job_id >= 906 and job_id < 911 order by job_id',
    );
    expect(odd.rows).toEqual([
      { status: null, length: 300_000 },
      { status: 'completed', length: 9_500_000 },
    ]);
    const ratio = await system.db.query('select ratio::text from mirror.research_jobs where job_id = 903');
    expect(ratio.rows).toEqual([{ ratio: DIGITS }]);

    const quarantine = await system.db.query<{ item: string }>('select item from mirror.quarantine');
    expect(quarantine.rows.map(({ item }) => item).toSorted()).toEqual(QUARANTINED.toSorted());
    const quality = await system.db.query(
      `select quarantined_items::int, field_conflicts::int from mirror.data_quality where collection = 'research_jobs'`,
    );
    expect(quality.rows).toEqual([{ quarantined_items: QUARANTINED.length, field_conflicts: 1 }]);
    const status = await system.run(['status']);
    expect(status.code).toBe(0);
    expect(status.stdout.replaceAll(/\s+/g, ' ')).toContain('5 items could not be mirrored');

    // The same again: nothing is written, nothing is counted twice.
    const again = await system.sync(['--full', 'research_jobs']);
    expect(again.collections).toMatchObject([{ inserted: 0, updated: 0, error: null }]);
    expect((await system.db.query('select 1 from mirror.quarantine')).rows).toHaveLength(QUARANTINED.length);
  });

  it('of a megabyte each are mirrored whole in little memory, however many a page has', async () => {
    system = await createSystem({
      jobs: 60,
      lists: 1,
      itemsPerList: 1,
      bulkJobs: 1,
      watchlist: 1,
      hostileShare: 1,
      hostileKinds: 'megabyte',
    });
    await system.sandbox.control.clock({ freeze: true });
    // A page with all of them is 60 MB: as text, as values and as parameters it would not fit.
    const env = { NODE_OPTIONS: '--max-old-space-size=112' };
    const { collections } = await system.sync(['--full', 'research_jobs'], { env });
    expect(collections).toMatchObject([{ inserted: 60, error: null }]);
    const { rows } = await system.db.query(
      'select count(*)::int as rows, min(length(report)) as least, max(length(report)) as most from mirror.research_jobs',
    );
    expect(rows).toEqual([{ rows: 60, least: 1_000_000, most: 1_000_000 }]);
  });

  it('are no hindrance in any share of a collection', async () => {
    system = await createSystem({
      jobs: 1_500,
      hostileShare: 0.2,
      hostileKinds: HOSTILE_KINDS.filter(
        (kind) => !['megabyte', 'long', 'many-fields'].includes(kind),
      ).join(),
    });
    await system.sandbox.control.clock({ freeze: true });
    const { collections } = await system.sync(['--full']);
    for (const { collection, items, inserted, quarantined, error } of collections) {
      expect({ collection, error, sum: inserted + quarantined }).toEqual({
        collection,
        error: null,
        sum: items,
      });
    }
    const jobs = collections.find(({ collection }) => collection === 'research_jobs');
    expect(jobs?.items).toBe(1_500);
    expect(jobs?.quarantined).toBeGreaterThan(20);
    expect(jobs?.quarantined).toBeLessThan(300);
  });
});
