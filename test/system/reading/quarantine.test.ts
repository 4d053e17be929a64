import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
});
afterAll(() => system.close());

async function list(...args: string[]) {
  const { code, stdout, stderr } = await system.run(['quarantine', 'list', '--json', ...args]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as {
    items: number;
    entries: { id: string; key: string | null; reason: string }[];
  };
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
    [['lits'], 'has no action "lits" (did you mean list?)'],
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
