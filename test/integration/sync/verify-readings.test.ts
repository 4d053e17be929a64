import { afterEach, describe, expect, it } from 'vitest';
import { verifyAccount } from '../../../src/operate/verify-account.ts';
import { createFrozenAccount, type TestAccount } from '../../support/sync/read-account.ts';

let account: TestAccount;
afterEach(() => account.close());

/** What was done to a row before its first reading, and as what that counts if nothing else happens. */
const TAMPERING = {
  removed: { as: 'missing', sql: 'delete from mirror.research_jobs where job_id = $' },
  deleted: { as: 'missing', sql: 'update mirror.research_jobs set _deleted_at = now() where job_id = $' },
  column: { as: 'different', sql: `update mirror.research_jobs set status = 'x' where job_id = $` },
  raw: { as: 'different', sql: `update mirror.research_jobs set _raw = '{}' where job_id = $` },
  added: {
    as: 'extra',
    sql: `insert into mirror.research_jobs select (jsonb_populate_record(j, '{"job_id": 90000$}')).*
      from mirror.research_jobs as j where job_id = $`,
  },
} as const;
type Tampering = keyof typeof TAMPERING;

/** What happens to it between the two readings. */
const BETWEEN = ['nothing', 'mended', 'written', 'item changed', 'item deleted'] as const;

async function between(what: (typeof BETWEEN)[number], how: Tampering, id: string): Promise<void> {
  const { control } = account.sandbox;
  const key = how === 'added' ? `90000${id}` : id;
  const row = `mirror.research_jobs where job_id = ${key}`;
  const item = { collection: 'research_jobs', id } as const;
  if (what === 'written')
    await account.query(`update mirror.research_jobs set _change_id = _change_id + 1000000 where job_id = ${key}`);
  else if (what === 'mended')
    await account.query(`delete from ${row}; insert into mirror.research_jobs
      select * from public.kept where job_id = ${key}`);
  else if (what === 'item changed') await control.mutate({ op: 'update', ...item, fields: { note: 'new' } });
  else if (what === 'item deleted') await control.mutate({ op: 'delete', ...item });
}

/** The service has nothing of a row that was added, and a row that is not there is not written. */
const hasNone = (what: string, how: Tampering): boolean =>
  (how === 'added' && what.startsWith('item')) || (how === 'removed' && what === 'written');

describe('the two readings of verify', () => {
  it.each([
    ['falling', null],
    ['unordered', null],
    ['falling', { rows: 200, seed: 1 }],
    ['unordered', { rows: 40, seed: 1 }],
  ] as const)('accuse no row that changed between them: order %s, sample %o', async (order, sample) => {
    account = await createFrozenAccount({ order, jobs: 140 });
    await account.read('research_jobs', 'full');
    await account.query('create table public.kept as select * from mirror.research_jobs');
    const ids = await account.query<{ id: string }>('select job_id::text as id from public.kept order by 1');
    const played = (Object.keys(TAMPERING) as Tampering[])
      .flatMap((how) => BETWEEN.map((what) => ({ how, what })))
      .filter(({ how, what }) => !hasNone(what, how))
      .map((each, nth) => ({ ...each, id: ids[5 * nth + 2]?.id ?? '' }));
    for (const { how, id } of played) await account.query(TAMPERING[how].sql.replaceAll('$', id));

    const [found] = await verifyAccount({
      context: account.current.reading,
      db: account.database.db,
      config: account.config,
      collections: ['research_jobs'],
      sample,
      signal: new AbortController().signal,
      onProgress: () => {},
      catchUp: async () => {
        for (const { how, what, id } of played) await between(what, how, id);
      },
    });
    // In a list without order a sample can't tell what the service does not have.
    const isBlind = sample !== null && order === 'unordered';
    const seen = played.filter(({ how }) => !isBlind || how !== 'added');
    const expected = seen.map(({ how, what, id }) => [
      how === 'added' ? `90000${id}` : id,
      what === 'nothing' ? TAMPERING[how].as : 'changed',
    ]);
    const told = found?.discrepancies.map(({ key, kind }) => [key, kind]) ?? [];
    expect(found?.error).toBeNull();
    expect(new Set(told.map(String))).toEqual(new Set(expected.map(String)));
    expect(told).toHaveLength(expected.length);
  });
});
