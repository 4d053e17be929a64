import type pg from 'pg';
import { afterEach, beforeAll, afterAll, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import type { VerifyReport } from '../../../src/operate/verify-account.ts';
import type { VerifiedCollection } from '../../../src/operate/verify-scope.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { rowVersions } from '../../support/mirror/mirror-truth.ts';
import { createFrozenSystem, type System } from '../../support/processes/system.ts';

let system: System;

async function mirror(switches: Partial<SandboxOptions> = {}): Promise<void> {
  system = await createFrozenSystem(switches);
  await system.sync(['--full']);
}

async function verify(args: readonly string[], code: number): Promise<VerifyReport> {
  const outcome = await system.run(['verify', '--json', ...args]);
  expect({ code: outcome.code, stderr: outcome.code === code ? '' : outcome.stderr }).toEqual({
    code,
    stderr: '',
  });
  return JSON.parse(outcome.stdout) as VerifyReport;
}

const of = (report: VerifyReport, name: string): VerifiedCollection | undefined =>
  report.collections.find(({ collection }) => collection === name);

const keysOf = (found: VerifiedCollection | undefined, kind: string): string[] =>
  (found?.discrepancies ?? []).flatMap((each) => (each.kind === kind ? (each.key ?? '') : [])).toSorted();

/**
 * Tampers with ten rows of `mirror.research_jobs` in each way, spread over the table, as somebody with a database
 * client may: the mirror's own columns stay as they are.
 * @returns their keys, by what was done to them
 */
async function tamper(client: pg.Pool) {
  const { rows } = await client.query<{
    id: string;
  }>(`select job_id as id from (select job_id, row_number() over (order by job_id) - 1 as n,
       count(*) over () / 50 as apart from mirror.research_jobs) as j
     where n % apart = 0 order by job_id limit 50`);
  const every = (nth: number) => rows.flatMap(({ id }, index) => (index % 5 === nth ? [id] : []));
  const chosen = { removed: every(0), column: every(1), raw: every(2), hash: every(3), deleted: every(4) };
  const { rows: made } = await client.query<{ id: string }>(
    `insert into mirror.research_jobs
     select (jsonb_populate_record(j, jsonb_build_object('job_id', 900000000 + j.job_id))).*
     from mirror.research_jobs as j where job_id = any($1) returning job_id as id`,
    [chosen.column],
  );
  const change = (set: string, which: readonly string[]): Promise<unknown> =>
    client.query(`update mirror.research_jobs set ${set} where job_id = any($1)`, [which]);
  await client.query('delete from mirror.research_jobs where job_id = any($1)', [chosen.removed]);
  await change(`status = 'tampered'`, chosen.column);
  await change(`_raw = _raw || '{"status": "tampered"}'`, chosen.raw);
  await change(`_hash = sha256('tampered')`, chosen.hash);
  await change(`_deleted_at = now()`, chosen.deleted);
  return { ...chosen, added: made.map(({ id }) => id) };
}

/** Pages have 100 items. */
const PAGES = { maxLimit: 100, badLimit: 'clamped', jobs: 2_000, lists: 4, itemsPerList: 6 } as const;

describe('verify of a mirror that is equal', () => {
  beforeAll(() => mirror(PAGES));
  afterAll(() => system.close());

  it('finds no difference, and estimates the requests that the reading takes', async () => {
    const report = await verify([], 0);
    expect(report.equal).toBe(true);
    expect(of(report, 'research_jobs')).toMatchObject({ items: 2_000, rows: 2_000, missing: 0, changed: 0 });
    const expected = report.collections.map(({ collection, estimate }) => `${collection} ${estimate.requests}`);
    expect(expected.join(', ')).toBe(
      'account 1, research_jobs 20, bulk_research_jobs 1, lists 1, list_items 4, watchlist 1',
    );
    const { stderr } = await system.run(['verify']);
    expect(stderr).toMatch(/comparing, about 28 requests, at best less than a minute: /);
  });

  it('compares the pages of a sample of rows in a few requests', async () => {
    const [jobs] = (await verify(['research_jobs', '--sample', '3'], 0)).collections;
    expect(jobs).toMatchObject({ sample: 3, rows: 2_000, different: 0, error: null });
    // The first page is read, too.
    expect(jobs?.estimate.requests).toBe(4);
    expect(jobs?.items).toBeGreaterThanOrEqual(100);
    expect(jobs?.items).toBeLessThanOrEqual(400);
    // Of list items, the lists of the chosen ones.
    const [items] = (await verify(['list_items', '--sample', '2'], 0)).collections;
    expect(items).toMatchObject({ sample: 2, rows: 24, error: null });
    expect([6, 12]).toContain(items?.items);
  });

  it('says of a sample that it is one, and never that all are equal, beside a daemon too', async () => {
    const daemon = await system.daemon();
    const { code, stdout } = await system.run(['verify', '--sample', '3', 'research_jobs', 'account']);
    expect(code).toBe(0);
    expect(stdout).toContain('no difference in the sample');
    expect(stdout).toMatch(/a sample: \d{3} of about 2,000 rows were compared\. It says nothing about the/);
    expect(stdout).not.toContain('equals');
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });

  it.each(['0', '-1', '1.5', 'all', '10001'])('refuses a sample of %s rows', async (rows) => {
    const { code, stdout, stderr } = await system.run(['verify', `--sample=${rows}`]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`--sample: "${rows}" must be a whole number from 1 to 10,000`);
  });
});

describe('verify', () => {
  afterEach(() => system.close());

  it('finds exactly the rows that were tampered with, of each kind, in a sample those on its pages', async () => {
    await mirror(PAGES);
    const tampered = await tamper(system.db);
    const before = await rowVersions(system.db);
    const found = of(await verify(['research_jobs'], 1), 'research_jobs');
    expect(await rowVersions(system.db)).toBe(before);
    const counts = { missing: 20, extra: 10, different: 30, changed: 0 };
    expect(found).toMatchObject({ ...counts, quarantined: 0 });
    expect(keysOf(found, 'missing')).toEqual([...tampered.removed, ...tampered.deleted].toSorted());
    expect(keysOf(found, 'extra')).toEqual(tampered.added.toSorted());
    const different = [...tampered.column, ...tampered.raw, ...tampered.hash];
    expect(keysOf(found, 'different')).toEqual(different.toSorted());
    for (const [ids, name] of [
      [tampered.column, 'status'],
      [tampered.raw, '_raw.status'],
      [tampered.hash, '_hash'],
    ] as const) {
      const theirs = found?.discrepancies.filter(({ key, kind }) => kind === 'different' && ids.includes(key ?? ''));
      expect(theirs?.map(({ fields }) => fields.map((field) => field.name))).toEqual(ids.map(() => [name]));
    }
    // All pages, and chosen rows that the service does not have.
    const [sample] = (await verify(['research_jobs', '--sample', '10000'], 1)).collections;
    expect(sample).toMatchObject({ sample: 10_000, ...counts });
    expect(keysOf(sample, 'extra')).toEqual(tampered.added.toSorted());

    // As docs/verify.md says how to mend it.
    await system.db.query(`update mirror.research_jobs set _hash = '' where job_id = any($1)`, [different]);
    const env = { MIRROR_SETTLE: '1s' };
    // Where the order earns trust by these changes, the proofs begin again: it may take a second reading.
    expect([0, 3]).toContain((await system.run(['sync', '--full', 'research_jobs'], env)).code);
    await system.sync(['--full', 'research_jobs'], { env });
    expect((await verify(['research_jobs'], 0)).equal).toBe(true);
  });

  it('finds items of lists, items under lists that there are not, the account’s row, and an empty table', async () => {
    await mirror({ lists: 4, itemsPerList: 6 });
    const { db } = system;
    const { rows: lists } = await db.query<{ id: string }>('select list_id as id from mirror.lists order by 1');
    const [first, second, third] = lists.map(({ id }) => id);
    await db.query(`
      delete from mirror.list_items where (list_id, id) =
        (select list_id, id from mirror.list_items where list_id = ${first} limit 1);
      update mirror.list_items set list_id = 77 where list_id = ${second};
      delete from mirror.lists where list_id = ${third};
      update mirror.account set credits = credits + 1;
      delete from mirror.watchlist`);
    const report = await verify([], 1);
    const items = of(report, 'list_items');
    expect(items).toMatchObject({ items: 24, rows: 23, missing: 7, extra: 6, different: 0, error: null });
    const told = new Set(items?.discrepancies.map(({ list, kind }) => `${list} ${kind}`));
    expect(told).toEqual(new Set([`${first} missing`, `${second} missing`, '77 extra']));
    const discrepancies = [{ key: third, kind: 'missing' }];
    expect(of(report, 'lists')).toMatchObject({ missing: 1, discrepancies });
    const credits = [{ kind: 'different', fields: [{ name: 'credits' }] }];
    expect(of(report, 'account')).toMatchObject({ items: 1, rows: 1, discrepancies: credits });
    // Of a table without rows the first page is read.
    const [watchlist] = (await verify(['watchlist', '--sample', '2'], 1)).collections;
    expect(watchlist?.missing).toBe(watchlist?.items);
    expect(watchlist?.missing).toBeGreaterThan(0);
    const { stdout } = await system.run(['verify', 'account', 'list_items']);
    expect(stdout).toMatch(/^account 1001 different: credits: \S+ ≠ \S+$/m);
    expect(stdout).toContain('77/');
    expect(stdout).toContain('14 rows differ (service ≠ mirror)');
  });

  it('lets the daemon poll what is new before it judges', async () => {
    await mirror();
    const daemon = await system.daemon({ MIRROR_POLL_CRON: '0 0 1 1 *' });
    await system.sync();
    const [list] = await system.sandbox.control.truth({ collection: 'lists' });
    await system.sandbox.control.mutate(
      { op: 'insert', collection: 'research_jobs' },
      { op: 'insert', collection: 'list_items', list: /"list_id":(\d+)/.exec(list ?? '')?.[1] ?? '' },
    );
    const report = await verify([], 0);
    for (const name of ['research_jobs', 'list_items']) {
      expect(of(report, name)).toMatchObject({ missing: 0, changed: 1 });
    }
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });

  it('ends with 130 when it is interrupted, and with 3 when the service can’t be read', async () => {
    await mirror({ jobs: 100 });
    const { control } = system.sandbox;
    await control.change({ latencyMin: 2_000, latencyMax: 2_000 });
    const before = (await control.counters()).requests;
    const running = system.begin(['verify']);
    await eventually('a request', async () => (await control.counters()).requests > before);
    running.child.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 130 });
    await control.change({ latencyMin: 0, latencyMax: 0, fault500: 1 });
    const failed = await verify(['watchlist'], 3);
    expect(failed).toMatchObject({ equal: false });
    expect(of(failed, 'watchlist')?.error).toContain('500');
  });
});
