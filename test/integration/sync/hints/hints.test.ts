import { afterEach, describe, expect, it } from 'vitest';
import { PRIORITY } from '../../../../src/budget/priorities.ts';
import { addHints } from '../../../../src/db/events/hint-store.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';
import { type HintedRow, rowsOfEvent } from '../../../../src/model/hint.ts';
import { Stopped } from '@research-mirror/runtime/service';
import { systemClock } from '@research-mirror/runtime/clock';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { accountService, type AccountService } from '../../../../src/sync/loops/account-service.ts';
import { hintDispatcher } from '../../../../src/sync/hints/hint-dispatcher.ts';
import { createHintStore } from '../../../../src/sync/hints/account-hints.ts';
import { readingBudget } from '../../../../src/sync/hints/reading-budget.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createTestAccount, type TestAccount } from '../../../support/sync/read-account.ts';
import { earlier } from '../../../support/postgres/earlier.ts';

const COLLECTIONS: readonly CollectionName[] = ['research_jobs', 'lists', 'list_items', 'watchlist'];
const KEY_FIELDS = { research_jobs: 'job_id', lists: 'list_id', watchlist: 'id' } as const;

let test: TestAccount;
let service: AccountService;
let ring: () => void;
const failures: string[] = [];
afterEach(async () => {
  await service.stop();
  await test.close();
  expect(failures.splice(0)).toEqual([]);
});

/** Everything is mirrored, stands still from now on, and nothing but hints makes the account read. */
async function mirrored(
  switches: Partial<SandboxOptions> = {},
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  test = await createTestAccount(switches, systemClock, env);
  await test.sandbox.control.clock({ freeze: true });
  for (const name of COLLECTIONS) expect((await test.read(name, 'current')).error).toBeUndefined();
  // Long ago, as far as hints can tell: what has just been mirrored would count as changed by the event.
  for (const name of COLLECTIONS)
    await test.query(`update mirror.${name} set _changed_at = ${earlier('_changed_at', '1 hour')}`);
  const { database, current, config } = test;
  const { fence, reader, source } = current;
  const onFailure = (what: string, error: Error): void => void failures.push(`${what}: ${error.message}`);
  const dispatcher = hintDispatcher({
    reader,
    store: createHintStore(database.db, fence),
    collections: COLLECTIONS,
    budget: readingBudget(source),
    gracePeriodMs: config.gracePeriodMs,
    onFailure,
    clock: systemClock,
    random: () => 1,
  });
  ring = () => dispatcher.bell.ring();
  service = accountService({
    reader,
    collections: [],
    tidy: () => Promise.resolve(),
    ping: () => Promise.resolve(),
    onState: () => Promise.resolve(),
    onFailure,
    companions: [dispatcher.loop],
    clock: systemClock,
    random: () => 1,
  });
  await service.start();
  test.asked.length = 0;
}

/** What a receiver does with a verified delivery. */
async function hint(...rows: HintedRow[]): Promise<void> {
  const { db } = test.database;
  const now = await test.current.store.now();
  await db.transaction((trx) => addHints(trx, test.current.fence.userId, rows, now));
  ring();
}

const job = (key: string): HintedRow => ({ collection: 'research_jobs', parent: '', key });

interface HintRow {
  readonly collection: string;
  readonly key: string;
  readonly step: number;
  /** When it is due, in seconds after the event. */
  readonly after_s: number;
}

const hints = (): Promise<HintRow[]> =>
  test.query(`select collection, key, step, extract(epoch from due_at - hinted_at)::float8 as after_s
    from mirror_sync.hint order by collection, key`);

/** The wait until then is over. */
async function hasten(): Promise<void> {
  await test.query('update mirror_sync.hint set due_at = clock_timestamp()');
  ring();
}

async function ids(collection: keyof typeof KEY_FIELDS): Promise<string[]> {
  const truth = await test.sandbox.control.truth({ collection });
  return truth.map((text) => String((JSON.parse(text) as Record<string, unknown>)[KEY_FIELDS[collection]]));
}

const update = (collection: 'research_jobs' | 'lists' | 'watchlist', ...keys: string[]): Promise<string[]> =>
  test.sandbox.control.mutate(
    ...keys.map((id) => ({ op: 'update', collection, id, fields: { note: 'changed' } }) as const),
  );

const changed = (table: string): Promise<{ count: number }[]> =>
  test.query(`select count(*)::int from mirror.${table} where _raw->>'note' = 'changed'`);

describe('a hinted row', () => {
  it('that is known is read by one request, which begins right before it', async () => {
    await mirrored();
    const all = await ids('research_jobs');
    const [before = '', key = ''] = all.slice(200);
    await update('research_jobs', key);
    await hint(...rowsOfEvent('research.completed', `{"job_id":${key}}`));
    await eventually('the hint to go', async () => (await hints()).length === 0);
    expect(await changed('research_jobs')).toEqual([{ count: 1 }]);
    expect(test.asked).toEqual([`/v1/research?limit=500&starting_after=${before}`]);
  });

  it('that is not known yet is found by a poll', async () => {
    await mirrored();
    const [key = ''] = await test.sandbox.control.mutate({ op: 'insert', collection: 'research_jobs' });
    await hint(job(key));
    await eventually('the hint to go', async () => (await hints()).length === 0);
    const rows = await test.query(`select job_id from mirror.research_jobs where job_id = ${key}`);
    expect(rows).toHaveLength(1);
    expect(test.asked.every((path) => path.startsWith('/v1/research?'))).toBe(true);
    // The overlap: 200 rows in pages of 50.
    expect(test.asked.length).toBeLessThanOrEqual(5);
  });

  it('among many is read with all others of its page', async () => {
    await mirrored();
    const all = await ids('research_jobs');
    // Three groups, each within a page of 50.
    const some = [20, 21, 60, 120, 130, 140, 168, 250, 260, 270, 280, 290].map((at) => String(all[at]));
    await update('research_jobs', ...some);
    await hint(...some.map(job));
    await eventually('the hints to go', async () => (await hints()).length === 0);
    expect(await changed('research_jobs')).toEqual([{ count: some.length }]);
    expect(test.asked).toHaveLength(3);
  });

  it('that looks unchanged is read again after 5 s and 30 s, and then forgotten', async () => {
    await mirrored();
    const [key = ''] = (await ids('research_jobs')).slice(100);
    await hint(job(key));
    await eventually('the first reading', async () => (await hints())[0]?.step === 1);
    const [first] = await hints();
    expect(first?.after_s).toBeGreaterThanOrEqual(5);
    expect(first?.after_s).toBeLessThan(30);
    await hasten();
    await eventually('the second reading', async () => (await hints())[0]?.step === 2);
    const [second] = await hints();
    expect(second?.after_s).toBeGreaterThanOrEqual(30);
    await hasten();
    await eventually('the hint to go', async () => (await hints()).length === 0);
    expect(test.asked).toHaveLength(3);
  });

  it('that changes only by the second reading is seen then', async () => {
    await mirrored();
    const [key = ''] = (await ids('research_jobs')).slice(100);
    await hint(job(key));
    await eventually('the first reading', async () => (await hints())[0]?.step === 1);
    await update('research_jobs', key);
    await hasten();
    await eventually('the hint to go', async () => (await hints()).length === 0);
    expect(await changed('research_jobs')).toEqual([{ count: 1 }]);
  });

  it('that no list has is looked for where it would stand, and stays for the next reading', async () => {
    await mirrored();
    await hint(job('1'), job('999999999'));
    await eventually('the first reading', async () => (await hints()).every(({ step }) => step === 1));
    expect(await hints()).toHaveLength(2);
  });

  it('is read once more when it is hinted while it is being read', async () => {
    await mirrored();
    const [key = ''] = (await ids('research_jobs')).slice(100);
    await update('research_jobs', key);
    let blocked = true;
    test.onRequest = async () => {
      if (!blocked) return;
      blocked = false;
      await hint(job(key));
    };
    await hint(job(key));
    await eventually('both readings', async () => test.asked.length === 2 && (await hints()).length === 0);
    expect(await changed('research_jobs')).toEqual([{ count: 1 }]);
  });

  it('whose poll found the change before the event came is read once', async () => {
    await mirrored();
    const [key = ''] = (await ids('research_jobs')).slice(5);
    await update('research_jobs', key);
    expect((await test.read('research_jobs', 'poll')).error).toBeUndefined();
    test.asked.length = 0;
    await hint(job(key));
    await eventually('the hint to go', async () => (await hints()).length === 0);
    expect(test.asked).toHaveLength(1);
  });

  it('does not make rows that are unsettled wait for their refresh', async () => {
    await mirrored();
    const memory = (): Promise<unknown[]> =>
      test.query(`select memory->'refreshed' as r from mirror_sync.scope where collection = 'research_jobs'`);
    const before = await memory();
    await hint(job((await ids('research_jobs'))[150] ?? ''));
    await eventually('the reading', async () => (await hints())[0]?.step === 1);
    expect(await memory()).toEqual(before);
  });
});

describe('a hinted scope', () => {
  it('is polled where the event names no row', async () => {
    await mirrored();
    const [key = ''] = await ids('watchlist');
    await update('watchlist', key);
    await hint(...rowsOfEvent('watchlist.change_detected', '{}'));
    await eventually('the hint to go', async () => (await hints()).length === 0);
    expect(await changed('watchlist')).toEqual([{ count: 1 }]);
    expect(test.asked).toEqual(['/v1/watchlist?limit=500']);
  });

  it('of a list is read whole, after the list’s own row', async () => {
    await mirrored();
    const [list = ''] = await ids('lists');
    const [text = ''] = await test.sandbox.control.truth({ collection: 'list_items', list });
    const { id } = JSON.parse(text) as { id: string | number };
    await test.sandbox.control.mutate({
      op: 'update',
      collection: 'list_items',
      list,
      id: String(id),
      fields: { note: 'changed' },
    });
    await update('lists', list);
    await hint(...rowsOfEvent('list.analyzed', `{"list_id":${list}}`));
    await eventually('the hints to go', async () => (await hints()).length === 0);
    expect(await changed('list_items')).toEqual([{ count: 1 }]);
    expect(await changed('lists')).toEqual([{ count: 1 }]);
    expect(test.asked).toEqual(['/v1/lists?limit=500', `/v1/lists/${list}?limit=500`]);
  });

  it('of a list whose reading was broken off is not told of: nothing was read', async () => {
    await mirrored();
    const [list = ''] = await ids('lists');
    for (const [name, parent] of [
      ['list_items', list],
      ['account', ''],
    ] as const) {
      const read = await test.current.reader.readHinted(name, {
        parent,
        hinted: { whole: true, keys: [], known: new Set() },
        requests: 1,
        priority: PRIORITY.LATE_HINT,
        signal: AbortSignal.abort(new Stopped('a late reading of hints')),
      });
      expect([name, read.outcome.error, read.covers('')]).toEqual([name, undefined, false]);
    }
    expect(test.asked).toEqual([]);
  });

  it('of a list that is not here costs no request', async () => {
    await mirrored();
    await hint({ collection: 'list_items', parent: '123456', key: '' });
    await eventually('the judgement', async () => (await hints())[0]?.step === 1);
    expect(test.asked).toEqual([]);
  });

  it('of unknown order is read whole, at most once in a grace period', async () => {
    await mirrored({ order: 'unordered' }, { MIRROR_SETTLE: '600s' });
    const all = await ids('research_jobs');
    const [first = '', second = ''] = all.slice(200);
    await update('research_jobs', first);
    await hint(job(first));
    await eventually('the hint to go', async () => (await hints()).length === 0);
    expect(await changed('research_jobs')).toEqual([{ count: 1 }]);
    // The top, then all six pages, and whose they are.
    expect(test.asked).toHaveLength(8);
    expect(test.asked.at(-1)).toBe('/v1/ping');

    await update('research_jobs', second);
    await hint(job(second));
    await eventually('the look at the top', () => test.asked.length === 9);
    await hint(job(first));
    expect((await hints()).map(({ step }) => step)).toEqual([0, 0]);
    expect(test.asked).toHaveLength(9);
  });
});
