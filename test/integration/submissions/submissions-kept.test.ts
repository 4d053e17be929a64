import { describe, expect, it } from 'vitest';
import {
  explainWait,
  findSubmission,
  listSubmissions,
  pruneSubmissions,
  whyCreditsTooLow,
} from '../../../src/submissions/stored-submissions.ts';
import { storedSubmissions } from '../../support/submissions/stored-submissions.ts';

const scene = storedSubmissions();
const { run, queue } = scene;

describe('retention', () => {
  it('removes what was done long ago; what has an idempotency key stays 400 days at least', async () => {
    const DAY = 86_400_000;
    const rows: readonly (readonly [string, number | null, string | null])[] = [
      ['old', 31, null],
      ['young', 29, null],
      ['keyed', 399, 'a'],
      ['keyed and old', 401, 'b'],
      ['open', null, null],
    ];
    for (const [name, days, key] of rows) {
      await run(`
        insert into mirror.submissions (_user_id, operation, payload, state, created_at, done_at, idempotency_key, error)
        values (${scene.user}, 'research', '{}', '${days === null ? 'queued' : 'unknown'}', now(),
          ${days === null ? 'null' : `now() - interval '${days} d'`}, ${key === null ? 'null' : `'${key}'`}, '${name}')`);
    }
    // More than one batch.
    await run(`
      insert into mirror.submissions (_user_id, operation, payload, state, created_at, done_at)
      select ${scene.user}, 'research', '{}', 'accepted', now(), now() - interval '40 d' from generate_series(1, 1500)`);
    const prune = (days: number): Promise<void> =>
      pruneSubmissions(scene.db, scene.fence, days * DAY, new AbortController().signal);
    const left = async (): Promise<unknown[]> =>
      (await run(`select error from mirror.submissions where _user_id = ${scene.user} order by 1`)).map(
        ({ error }) => error,
      );
    await prune(30);
    expect(await left()).toEqual(['keyed', 'open', 'young']);
    await run(`update mirror.submissions set done_at = now() - interval '410 d' where error = 'keyed'`);
    await prune(110);
    expect(await left()).toEqual(['keyed', 'open', 'young']);
  });
});

describe('a list of submissions', () => {
  it('shows the newest first, by state and account, with every digit', async () => {
    const [first, second] = [await queue(), await queue(`'sequence', '{}', '4', idempotency_key => 'k'`)];
    const { store } = scene;
    await store.claim(first);
    await store.finish(first, { state: 'accepted', status: 200, body: '{"job_id": 9007199254740993}' });
    const list = (state?: 'queued' | 'accepted'): Promise<unknown[]> =>
      listSubmissions(scene.db, {
        userId: String(scene.user),
        limit: 5,
        ...(state && { state }),
      }).then((found) => found.map(({ id }) => id));
    expect(await list()).toEqual([second, first]);
    expect(await list('accepted')).toEqual([first]);
    expect(await listSubmissions(scene.db, { limit: 1 })).toMatchObject([{ id: second }]);
    expect(await findSubmission(scene.db, first)).toMatchObject({
      userId: String(scene.user),
      state: 'accepted',
      responseStatus: 200,
      response: '{"job_id": 9007199254740993}',
      idempotencyKey: null,
    });
    expect(await findSubmission(scene.db, '999999')).toBeUndefined();
  });
});

const credits = (value: string): Promise<unknown> =>
  run(`insert into mirror.account (_user_id, credits, _raw, _hash, _first_seen_at, _changed_at, _change_id)
    values (${scene.user}, ${value}, '{}', '', now(), now(), 1)
    on conflict (_user_id) do update set credits = excluded.credits`);
const why = (floor: string): Promise<string | undefined> =>
  whyCreditsTooLow(scene.db, String(scene.user), floor);
const explain = (text: string | undefined): Promise<void> => explainWait(scene.db, scene.fence, text);
const errors = async (): Promise<unknown[]> =>
  (
    await run(`select error from mirror.submissions where _user_id = ${scene.user} order by submission_id`)
  ).map(({ error }) => error);

describe('credits', () => {
  it('suffice from the floor on, digit by digit', async () => {
    await credits('9007199254740993.1');
    expect(await why('9007199254740993.1')).toBeUndefined();
    expect(await why('9007199254740993.11')).toMatch(/fewer credits than MIRROR_CREDITS_FLOOR/);
  });

  it('that are unknown do not suffice', async () => {
    expect(await why('1')).toMatch(/not known how many credits/);
    await credits('null');
    expect(await why('1')).toMatch(/not known how many credits/);
  });
});

describe('what queued rows say of their wait', () => {
  it('takes the place of an earlier explanation, but not of an error of their own', async () => {
    const [first, own] = [await queue(), await queue()];
    await run(`update mirror.submissions set error = 'POST was answered 429' where submission_id = ${own}`);
    await explain('waits: not known');
    await explain('waits: too few');
    expect(await errors()).toEqual(['waits: too few', 'POST was answered 429']);
    await run(`update mirror.submissions set state = 'cancelled' where submission_id = ${first}`);
    await queue();
    await explain(undefined);
    await explain('waits: too few');
    await explain(undefined);
    expect(await errors()).toEqual(['waits: too few', 'POST was answered 429', null]);
  });
});
