import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { QuarantineList } from '../../../src/app/quarantine/quarantine-list.ts';
import { createSystem, type System } from '../../support/processes/system.ts';

let system: System;
const TOO_MUCH = '{"job_id":901,"status":"completed","ratio":1e400000}';
const NO_ID = '{"status":"completed","remark":"no ID \\u001b[31m"}';

beforeAll(async () => {
  system = await createSystem({ jobs: 60 });
  const { control } = system.sandbox;
  await control.clock({ freeze: true });
  await control.mutate(
    { op: 'insert', collection: 'research_jobs', id: '901', source: TOO_MUCH },
    { op: 'insert', collection: 'research_jobs', id: '902', source: NO_ID },
  );
  await system.sync(['--full']);
  // Somebody's own rule, which half of the jobs break.
  await system.db.query(
    `alter table mirror.research_jobs add constraint small check (job_id % 2 = 0 or status <> 'checked') not valid`,
  );
  await system.db.query(
    `create view public.ids as select job_id from mirror.research_jobs order by 1 limit 20`,
  );
});
afterAll(() => system.close());

async function list(...args: string[]): Promise<QuarantineList> {
  const { code, stdout, stderr } = await system.run(['quarantine', 'list', '--json', ...args]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as QuarantineList;
}

/** Changes jobs at the service so that the constraint refuses half of them. @returns how many it refuses */
async function breakRule(): Promise<number> {
  const { rows } = await system.db.query<{ job_id: string }>('select job_id from public.ids');
  await system.sandbox.control.mutate(
    ...rows.map(({ job_id: id }) => ({
      op: 'update' as const,
      collection: 'research_jobs' as const,
      id,
      fields: { status: 'checked' },
    })),
  );
  // The rows that it refuses stay as they were.
  await system.sync(['--full', 'research_jobs'], { code: 1 });
  return rows.filter(({ job_id: id }) => Number(id) % 2 !== 0).length;
}

describe('quarantine list', () => {
  it('tells what is there, why and since when, the newest first', async () => {
    const { items, entries } = await list();
    expect(items).toBe(2);
    expect(entries.find(({ key }) => key === '901')).toMatchObject({
      userId: '1001',
      collection: 'research_jobs',
      list: '',
      reason: expect.stringContaining('refused by Postgres') as string,
      size: TOO_MUCH.length,
    });
    expect(entries.find(({ key }) => key === null)?.reason).toBe('has no cursor ID');
    const { stdout } = await system.run(['quarantine']);
    expect(stdout).toContain('2 items; --show ID prints one');
    expect(await list('watchlist')).toMatchObject({ items: 0 });
    expect((await list('--limit', '1')).entries).toHaveLength(1);
  });

  it('prints an item exactly as it came', async () => {
    const { entries } = await list();
    const id = entries.find(({ key }) => key === null)?.id ?? '';
    const shown = await system.run(['quarantine', 'list', '--show', id]);
    expect(shown).toMatchObject({ code: 0, stdout: `${NO_ID}\n`, stderr: '' });
    const json = await system.run(['quarantine', '--show', id.slice(0, 8), '--json']);
    expect(JSON.parse(json.stdout)).toEqual({ item: NO_ID });
    expect(await system.run(['quarantine', '--show', '0123'])).toMatchObject({ code: 1, stdout: '' });
  });

  it.each([
    [['lits'], `can't "lits" (did you mean list?)`],
    [['list', 'lists_items'], 'no such collection'],
    [['list', '--limit', 'x'], '--limit'],
    [['list', '--show', 'x y'], '--show'],
    [['retry', 'research_jobs'], 'sync --full'],
  ])('says what is wrong with %j', async (args, message) => {
    const { code, stderr } = await system.run(['quarantine', ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

describe('sync --full', () => {
  it('leaves what can’t be mirrored still, and says why', async () => {
    await system.sync(['--full']);
    const reasons = (await list()).entries.map(({ reason }) => reason).toSorted();
    expect(reasons).toEqual(['has no cursor ID', expect.stringContaining('is refused by Postgres')]);
  });

  it('takes them once the constraint that refused them is gone, though the service has not changed', async () => {
    const refused = await breakRule();
    expect(refused).toBeGreaterThan(3);
    expect(await list()).toMatchObject({ items: 2 + refused });
    await system.sync(['--full', 'research_jobs'], { code: 1 });
    expect(await list()).toMatchObject({ items: 2 + refused });

    await system.db.query('alter table mirror.research_jobs drop constraint small');
    await system.sync(['--full', 'research_jobs']);
    expect(await list()).toMatchObject({ items: 2 });
    const checked = await system.db.query(`select 1 from mirror.research_jobs where status = 'checked'`);
    expect(checked.rows).toHaveLength(20);
    // Each of them is a change like any other: with a version in history.
    const history = await system.db.query(
      `select 1 from mirror.research_jobs_history where job_id % 2 <> 0 and _op = 'update'`,
    );
    expect(history.rows).toHaveLength(refused);
  });

  it('is the retry of a daemon that makes no full walks by itself: it tries what it knows to be refused', async () => {
    // An error that looks like the item's own: the daemon remembers which ones it is not to try.
    await system.db.query(
      `create index odd on mirror.research_jobs ((1 / case status when 'again' then 0 else 1 end))`,
    );
    const daemon = await system.daemon({ MIRROR_FULL_CRON: 'never' });
    const { rows } = await system.db.query<{ job_id: string }>('select job_id from public.ids limit 3');
    for (const { job_id: id } of rows) {
      await system.sandbox.control.mutate({
        op: 'update',
        collection: 'research_jobs',
        id,
        fields: { status: 'again' },
      });
    }
    await system.sync(['--full', 'research_jobs'], { code: 1 });
    expect(await list()).toMatchObject({ items: 5 });
    await system.db.query('drop index mirror.odd');
    await system.sync(['research_jobs']);
    expect(await list()).toMatchObject({ items: 5 });
    await system.sync(['--full', 'research_jobs']);
    expect(await list()).toMatchObject({ items: 2 });
    await daemon.stop();
    const verified = await system.run(['verify', '--json', 'research_jobs']);
    expect(JSON.parse(verified.stdout)).toMatchObject({
      equal: true,
      collections: [{ items: 62, rows: 60, quarantined: 2, changed: 0 }],
    });
  });
});
