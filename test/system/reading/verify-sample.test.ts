import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import type { VerifyReport } from '../../../src/app/verify/run-verify.ts';
import type { VerifiedCollection } from '../../../src/sync/verify/report.ts';
import { tamper } from '../../support/mirror/tamper.ts';
import { createSystem, createFrozenSystem, type System } from '../../support/processes/system.ts';

let system: System;
afterEach(() => system.close());

/** Pages have 100 items. */
async function mirrored(switches: Partial<SandboxOptions> = {}): Promise<System> {
  system = await createFrozenSystem({ jobs: 2_000, maxLimit: 100, badLimit: 'clamped', ...switches });
  await system.sync(['--full']);
  return system;
}

async function verify(code: number, ...args: string[]): Promise<VerifiedCollection[]> {
  const outcome = await system.run(['verify', '--json', ...args]);
  expect({ code: outcome.code, said: outcome.code === code ? '' : outcome.stderr }).toEqual({
    code,
    said: '',
  });
  return (JSON.parse(outcome.stdout) as VerifyReport).collections as VerifiedCollection[];
}

describe('verify --sample', () => {
  it('compares the pages of a few rows in a few requests, and counts them', async () => {
    await mirrored();
    const [jobs] = await verify(0, 'research_jobs', '--sample', '3');
    expect(jobs).toMatchObject({ sample: 3, rows: 2_000, different: 0, error: null });
    // The first page is read, too.
    expect(jobs?.estimate.requests).toBe(4);
    expect(jobs?.items).toBeGreaterThanOrEqual(100);
    expect(jobs?.items).toBeLessThanOrEqual(400);
    await system.db.query(`update mirror.research_jobs set status = 'tampered'`);
    const [other] = await verify(1, 'research_jobs', '--sample', '3');
    expect(other?.items).toBeLessThanOrEqual(400);
    expect(other).toMatchObject({ missing: 0, extra: 0, different: other?.items, changed: 0 });
  });

  it('finds of each kind what is on its pages, and chosen rows that the service does not have', async () => {
    await mirrored();
    const { added } = await tamper(system.db, 10);
    const [jobs] = await verify(1, 'research_jobs', '--sample', '10000');
    expect(jobs).toMatchObject({ sample: 10_000, missing: 20, extra: 10, different: 30, changed: 0 });
    const extra = jobs?.discrepancies.filter(({ kind }) => kind === 'extra').map(({ key }) => key);
    expect(new Set(extra)).toEqual(new Set(added));
  });

  it('reads the lists of the chosen items, and the first page of what the mirror has nothing of', async () => {
    await mirrored({ jobs: 10, lists: 6, itemsPerList: 5 });
    const [items] = await verify(0, 'list_items', '--sample', '2');
    expect(items).toMatchObject({ sample: 2, rows: 30, error: null });
    expect([5, 10]).toContain(items?.items);
    await system.db.query('delete from mirror.watchlist');
    const [watchlist] = await verify(1, 'watchlist', '--sample', '2');
    expect(watchlist?.missing).toBe(watchlist?.items);
    expect(watchlist?.missing).toBeGreaterThan(0);
  });

  it('says that it is one, and never that all are equal, beside a daemon too', async () => {
    await mirrored();
    const daemon = await system.daemon();
    const { code, stdout } = await system.run(['verify', '--sample', '3', 'research_jobs', 'account']);
    expect(code).toBe(0);
    expect(stdout).toContain('no difference in the sample');
    expect(stdout).toMatch(
      /This was a sample: \d{3} of about 2,000 rows were compared\. It says nothing of the/,
    );
    expect(stdout).not.toContain('equals');
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });

  it.each(['0', '-1', '1.5', 'all', '10001'])('refuses %s rows', async (rows) => {
    system = await createSystem();
    const { code, stdout, stderr } = await system.run(['verify', `--sample=${rows}`]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`--sample: "${rows}" must be a whole number from 1 to 10,000`);
  });
});

describe('the estimate of verify', () => {
  it('is said first, and is what the reading takes', async () => {
    await mirrored({ lists: 4, itemsPerList: 6 });
    const collections = await verify(0);
    const expected = collections.map(({ collection, estimate }) => [collection, estimate.requests]);
    expect(expected).toEqual([
      ['account', 1],
      ['research_jobs', 20],
      ['bulk_research_jobs', 1],
      ['lists', 1],
      ['list_items', 4],
      ['watchlist', 1],
    ]);
    const { requests } = collections.find(({ collection }) => collection === 'research_jobs') ?? {};
    expect(requests).toBe(20);
    const { stderr } = await system.run(['verify']);
    expect(stderr).toMatch(/comparing, about 28 requests, at best less than a minute: /);
  });
});
