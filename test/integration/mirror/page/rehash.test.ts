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
class Reconfigured {
  readonly userId: string;
  account!: MirroredAccount;

  constructor() {
    users += 1;
    this.userId = String(users);
  }

  /** A program with this configuration takes over. */
  async start({ ignore = [], exclude = [] }: Fields = {}): Promise<void> {
    this.account = await MirroredAccount.make(database, this.userId, {
      ignoreFields: { ...noFields(), research_jobs: ignore },
      excludeFields: { ...noFields(), research_jobs: exclude },
    });
  }

  /** Writes a page. @returns the outcomes of its items */
  async page(...items: string[]): Promise<readonly string[]> {
    const result = await this.account.page('research_jobs', `[${items.join()}]`);
    if (result.state !== 'applied') throw new Error(result.state);
    return result.outcomes;
  }

  rows<T>(what: string): Promise<T[]> {
    return this.account.query(
      `select ${what} from mirror.research_jobs where _user_id = ${this.userId} order by job_id`,
    );
  }

  /** What a reader sees of a change: of all rows, and the versions in history. */
  async visible(): Promise<unknown> {
    const rest = await this.account.query(`
      select (select count(*) from mirror.research_jobs_history where _user_id = ${this.userId}) as versions, change_id
      from mirror_sync.account where _user_id = ${this.userId}`);
    return { rows: await this.rows('job_id, _raw::text, _verbatim, _changed_at, _change_id'), rest };
  }

  versions(): Promise<unknown[]> {
    return this.rows(`xmin::text || ctid as v`);
  }
}

async function reconfigured(before: Fields, items: readonly string[]): Promise<Reconfigured> {
  const made = new Reconfigured();
  await made.start(before);
  await made.page(...items);
  return made;
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
    const versions = await mirror.versions();
    await mirror.start({ ignore: ['score'] });
    expect(await mirror.page(...JOBS)).toEqual(['unchanged', 'unchanged', 'unchanged']);
    expect(await mirror.visible()).toEqual(before);
    const rehashed = await mirror.versions();
    expect(rehashed[0]).not.toEqual(versions[0]);
    expect(await mirror.page(...JOBS)).toEqual(['unchanged', 'unchanged', 'unchanged']);
    expect(await mirror.versions()).toEqual(rehashed);
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

describe('a field that is not ignored any more', () => {
  it('changes the rows with an older value in the mirror, and no others', async () => {
    const before = ['{"job_id":1,"score":1}', '{"job_id":2,"score":1}'];
    const today = ['{"job_id":1,"score":1}', '{"job_id":2,"score":2}'];
    const mirror = await reconfigured({ ignore: ['score'] }, before);
    expect(await mirror.page(...today)).toEqual(['unchanged', 'unchanged']);
    await mirror.start();
    expect(await mirror.page(...today)).toEqual(['unchanged', 'updated']);
    expect(await mirror.rows('score::text')).toEqual([{ score: '1' }, { score: '2' }]);
  });
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
  ])(
    'is removed from rows in place, %s: without a change or a version that would store it again',
    async (_, so) => {
      const mirror = await reconfigured(so, SECRETS);
      const ids = await mirror.rows('_change_id, _changed_at');
      await mirror.start({ exclude: ['secret'] });
      expect(await mirror.page(...SECRETS)).toEqual(SECRETS.map(() => 'unchanged'));
      expect(await mirror.rows('secret, _raw::text as raw, _verbatim as verbatim')).toEqual([
        { secret: null, raw: '{"job_id": 1, "status": "done"}', verbatim: null },
        { secret: null, raw: '{"job_id": 2, "status": "done"}', verbatim: null },
        { secret: null, raw: '{"job_id": 3, "status": "�"}', verbatim: '{"job_id":3,"status":"\\u0000"}' },
        { secret: null, raw: '{"job_id": 4, "status": "done"}', verbatim: null },
      ]);
      expect(await mirror.rows('_change_id, _changed_at')).toEqual(ids);
      const versions = `select 1 from mirror.research_jobs_history where _user_id = ${mirror.userId}`;
      expect(await mirror.account.query(versions)).toEqual([]);
      const written = await mirror.versions();
      await mirror.page(...SECRETS);
      expect(await mirror.versions()).toEqual(written);
    },
  );
});

describe('a row whose hash was emptied by hand', () => {
  it('is written again, which repairs what verify found', async () => {
    const mirror = await reconfigured({}, JOBS);
    await mirror.account.query(
      `update mirror.research_jobs set _hash = '', status = 'x' where _user_id = ${mirror.userId} and job_id = 1`,
    );
    expect(await mirror.page(...JOBS)).toEqual(['updated', 'unchanged', 'unchanged']);
    expect((await mirror.rows<{ status: string }>('status'))[0]).toEqual({ status: 'done' });
  });
});

describe('a number', () => {
  it('is spelled as jsonb prints it', async () => {
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
});
