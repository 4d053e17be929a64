import { afterEach, describe, expect, it } from 'vitest';
import { PRIORITY } from '../../../src/service/rate-groups.ts';
import { addHints } from '../../../src/mirror/hint-store.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import { type HintedRow, rowsOfEvent } from '../../../src/model/hint.ts';
import { Stopped } from '@research-mirror/runtime/service';
import { systemClock } from '@research-mirror/runtime/clock';
import { accountService, type AccountService } from '../../../src/account/account-service.ts';
import { hintDispatcher } from '../../../src/account/hint-dispatcher.ts';
import { createHintStore } from '../../../src/sync/hints.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createFrozenAccount, type TestAccount } from '../../support/sync/read-account.ts';
import { earlier } from '../../support/postgres/earlier.ts';

const COLLECTIONS: readonly CollectionName[] = ['research_jobs', 'lists', 'list_items', 'watchlist'];
const KEY_FIELDS = { research_jobs: 'job_id', lists: 'list_id' } as const;

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
async function mirrored(): Promise<void> {
  test = await createFrozenAccount();
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
    perMinute: () => source.sizeOf('other'),
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
    companions: [(signal, follow) => dispatcher.run(signal, follow)],
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

const hints = (): Promise<{ step: number }[]> => test.query('select step from mirror_sync.hint');

async function ids(collection: keyof typeof KEY_FIELDS): Promise<string[]> {
  const truth = await test.sandbox.control.truth({ collection });
  return truth.map((text) => String((JSON.parse(text) as Record<string, unknown>)[KEY_FIELDS[collection]]));
}

const update = (collection: keyof typeof KEY_FIELDS, id: string): Promise<string[]> =>
  test.sandbox.control.mutate({ op: 'update', collection, id, fields: { note: 'changed' } });

const changed = (table: string): Promise<{ count: number }[]> =>
  test.query(`select count(*)::int from mirror.${table} where _raw->>'note' = 'changed'`);

describe('a hinted row', () => {
  it('is read by one request that begins right before it if it is known', async () => {
    await mirrored();
    const all = await ids('research_jobs');
    const [before = '', key = ''] = all.slice(200);
    await update('research_jobs', key);
    await hint(...rowsOfEvent('research.completed', `{"job_id":${key}}`));
    await eventually('the hint to go', async () => (await hints()).length === 0);
    expect(await changed('research_jobs')).toEqual([{ count: 1 }]);
    expect(test.asked).toEqual([`/v1/research?limit=500&starting_after=${before}`]);
  });

  it('does not delay the refresh of unfinished rows', async () => {
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
  it('is read whole if it is a list, after the list’s own row', async () => {
    await mirrored();
    const [list = ''] = await ids('lists');
    const [text = ''] = await test.sandbox.control.truth({ collection: 'list_items', list });
    const id = String((JSON.parse(text) as { id: unknown }).id);
    const item = { collection: 'list_items', list, id, fields: { note: 'changed' } } as const;
    await test.sandbox.control.mutate({ op: 'update', ...item });
    await update('lists', list);
    await hint(...rowsOfEvent('list.analyzed', `{"list_id":${list}}`));
    await eventually('the hints to go', async () => (await hints()).length === 0);
    expect(await changed('list_items')).toEqual([{ count: 1 }]);
    expect(await changed('lists')).toEqual([{ count: 1 }]);
    expect(test.asked).toEqual(['/v1/lists?limit=500', `/v1/lists/${list}?limit=500`]);
  });

  it('is not covered if the reading of its list was interrupted', async () => {
    await mirrored();
    const [list = ''] = await ids('lists');
    const signal = AbortSignal.abort(new Stopped('the test'));
    const request = { keys: [''], known: new Set<string>(), requests: 1, priority: PRIORITY.HINT, signal };
    const { userId } = test.current.fence;
    for (const scope of [
      { userId, collection: 'list_items', parent: list },
      { userId, collection: 'account', parent: '' },
    ] as const) {
      const { outcome, covers } = await test.current.reader.readHinted(scope, request);
      expect([scope.collection, outcome.error, covers('')]).toEqual([scope.collection, undefined, false]);
    }
    expect(test.asked).toEqual([]);
  });

  it('costs no request if the mirror does not have its list', async () => {
    await mirrored();
    await hint({ collection: 'list_items', parent: '123456', key: '' });
    await eventually('the judgement', async () => (await hints())[0]?.step === 1);
    expect(test.asked).toEqual([]);
  });
});
