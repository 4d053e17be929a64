import * as fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { jsonbNumber } from '../../../../src/model/values.ts';
import { testDatabase } from '../../../support/databases/migrated-database.ts';
import { MirroredAccount, noFields } from '../../../support/mirror/mirrored-account.ts';

const database = testDatabase();
let users = 0;

interface Fields {
  readonly ignore?: readonly string[];
  readonly exclude?: readonly string[];
}

/** One account, written by programs of different configurations one after the other. */
async function reconfigured(before: Fields, items: readonly string[]) {
  const userId = String((users += 1));
  const make = ({ ignore = [], exclude = [] }: Fields) =>
    MirroredAccount.make(database, userId, {
      ignoreFields: { ...noFields(), research_jobs: ignore },
      excludeFields: { ...noFields(), research_jobs: exclude },
    });
  let account = await make(before);
  const rows = (columns: string, more = 'order by job_id') => account.rowsOf(columns, 'mirror.research_jobs', more);
  const mirror = {
    /** A program with this configuration takes over. */
    start: async (fields: Fields = {}) => void (account = await make(fields)),
    /** Writes a page. @returns the outcomes of its items */
    page: async (...texts: string[]): Promise<unknown> => {
      const result = await account.page('research_jobs', `[${texts.join()}]`);
      return result.state === 'applied' ? result.outcomes : result;
    },
    rows,
    query: (text: string) => account.query(`${text} where _user_id = ${userId}`),
    /** What a reader sees of a change: of all rows, and the versions in history. */
    visible: async () => [
      await rows('job_id, _raw::text, _verbatim, _changed_at::text, _change_id'),
      await account.rowsOf('_change_id', 'mirror.research_jobs_history'),
      await account.rowsOf('change_id', 'mirror_sync.account'),
    ],
    /** Physical place of each row: another one after each write. */
    places: () => rows('xmin, ctid'),
  };
  await mirror.page(...items);
  return mirror;
}

const JOBS = [
  '{"job_id":1,"status":"done","score":1}',
  '{"job_id":2,"status":"done","score":2,"ratio":1.50e1,"text":"\\u0000","tags":["\\ud800",{"b":-0,"a":1e2}]}',
  '{"job_id":3,"status":"é\\u0007","ratio":1e2,"big":12345678901234567890.10}',
];

describe('a field that is ignored from now on', () => {
  it('changes no row: they are hashed again in place, once', async () => {
    const mirror = await reconfigured({}, JOBS);
    const before = await mirror.visible();
    const places = await mirror.places();
    await mirror.start({ ignore: ['score'] });
    expect(await mirror.page(...JOBS)).toEqual(['unchanged', 'unchanged', 'unchanged']);
    expect(await mirror.visible()).toEqual(before);
    const rehashed = await mirror.places();
    expect(rehashed[0]).not.toEqual(places[0]);
    expect(await mirror.page(...JOBS)).toEqual(['unchanged', 'unchanged', 'unchanged']);
    expect(await mirror.places()).toEqual(rehashed);
  });

  it('changes no row by its own new value; other fields’ changes count', async () => {
    const mirror = await reconfigured({}, JOBS);
    const before = await mirror.visible();
    await mirror.start({ ignore: ['score'] });
    const [first = '', ...others] = JOBS;
    const other = first.replace('"score":1', '"score":"\\u0000"');
    expect(await mirror.page(other, ...others)).toEqual(JOBS.map(() => 'unchanged'));
    expect(await mirror.visible()).toEqual(before);
    const changed = JOBS.map((job) => job.replace('"done"', '"open"').replace('10}', '1}'));
    expect(await mirror.page(...changed)).toEqual(['updated', 'updated', 'updated']);
  });
});

it('a field that is not ignored any more changes the rows with an older value in the mirror, and no others', async () => {
  const before = ['{"job_id":1,"score":1}', '{"job_id":2,"score":1}'];
  const today = ['{"job_id":1,"score":1}', '{"job_id":2,"score":2}'];
  const mirror = await reconfigured({ ignore: ['score'] }, before);
  expect(await mirror.page(...today)).toEqual(['unchanged', 'unchanged']);
  await mirror.start();
  expect(await mirror.page(...today)).toEqual(['unchanged', 'updated']);
  expect(await mirror.rows('score')).toEqual(['1', '2']);
});

describe('a field that is never to be stored from now on', () => {
  const SECRETS = [
    '{"job_id":1,"secret":"s1","status":"done"}',
    '{"job_id":2,"secret":"\\u0000","status":"done"}',
    '{"job_id":3,"secret":"s3","status":"\\u0000"}',
    '{"job_id":4,"status":"done"}',
  ];

  it.each<[string, Fields]>([
    ['so far like any other', {}],
    ['ignored so far', { ignore: ['secret'] }],
  ])('is removed from rows in place, %s: without a change or a version that would store it again', async (_, so) => {
    const mirror = await reconfigured(so, SECRETS);
    const ids = await mirror.rows('_change_id, _changed_at::text');
    await mirror.start({ exclude: ['secret'] });
    expect(await mirror.page(...SECRETS)).toEqual(SECRETS.map(() => 'unchanged'));
    expect(await mirror.rows('secret, _raw::text, _verbatim')).toEqual([
      '- {"job_id": 1, "status": "done"} -',
      '- {"job_id": 2, "status": "done"} -',
      '- {"job_id": 3, "status": "�"} {"job_id":3,"status":"\\u0000"}',
      '- {"job_id": 4, "status": "done"} -',
    ]);
    expect(await mirror.rows('_change_id, _changed_at::text')).toEqual(ids);
    expect(await mirror.query('select from mirror.research_jobs_history')).toEqual([]);
    const written = await mirror.places();
    await mirror.page(...SECRETS);
    expect(await mirror.places()).toEqual(written);
  });
});

it('a row whose hash was emptied by hand is written again, which repairs what verify found', async () => {
  const mirror = await reconfigured({}, JOBS);
  await mirror.query(`update mirror.research_jobs set _hash = '', status = 'x'`);
  expect(await mirror.page(...JOBS.slice(0, 2))).toEqual(['updated', 'updated']);
  expect(await mirror.rows('status')).toEqual(['done', 'done', 'x']);
});

it('a number is spelled as jsonb prints it', async () => {
  const number = fc.stringMatching(/^-?(0|[1-9]\d{0,20})(\.\d{1,20})?(e-?([1-3]?\d|40))?$/);
  await fc.assert(
    fc.asyncProperty(fc.array(number, { minLength: 1, maxLength: 200 }), async (sources) => {
      const { rows } = await sql<{ text: string }>`
        select (x.v #>> '{}') as text from unnest(${sources}::text[]::jsonb[]) with ordinality as x (v, n)
        order by n`.execute(database.kysely);
      expect(sources.map(jsonbNumber)).toEqual(rows.map(({ text }) => text));
    }),
    { numRuns: 30 },
  );
});
