import { expect, it } from 'vitest';
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

/** A column of the account's submissions, in the order of another. */
const column = async (name: string, order = 'submission_id'): Promise<unknown[]> => {
  const rows = await run(`select ${name} from mirror.submissions where _user_id = ${scene.user} order by ${order}`);
  return rows.map((row) => row[name]);
};

it('retention removes what was done long ago; what has an idempotency key stays 400 days at least', async () => {
  const insert = (name: string, state: string, days: number | null, key: string | null, count = 1) =>
    run(`insert into mirror.submissions (_user_id, operation, payload, state, created_at, done_at, idempotency_key, error)
      select ${scene.user}, 'research', '{}', '${state}', now(), now() - interval '1 d' * ${days}, ${key}, '${name}'
      from generate_series(1, ${count})`);
  await insert('old', 'unknown', 31, null);
  await insert('young', 'unknown', 29, null);
  await insert('keyed', 'unknown', 399, `'a'`);
  await insert('keyed and old', 'unknown', 401, `'b'`);
  await insert('open', 'queued', null, null);
  await insert('more than one batch', 'accepted', 40, null, 1500);
  const prune = (days: number): Promise<void> =>
    pruneSubmissions(scene.db, scene.fence, days * 86_400_000, new AbortController().signal);
  await prune(30);
  expect(await column('error', 'error')).toEqual(['keyed', 'open', 'young']);
  await run(`update mirror.submissions set done_at = now() - interval '410 d' where error = 'keyed'`);
  await prune(110);
  expect(await column('error', 'error')).toEqual(['keyed', 'open', 'young']);
});

it('a list of submissions shows the newest first, by state and account, with every digit', async () => {
  const [first, second] = [await queue(), await queue(`'sequence', '{}', '4', idempotency_key => 'k'`)];
  const { db, store } = scene;
  const userId = String(scene.user);
  await store.claim(first);
  await store.finish(first, { state: 'accepted', status: 200, body: '{"job_id": 9007199254740993}' });
  const list = async (filter: Parameters<typeof listSubmissions>[1]) =>
    (await listSubmissions(db, filter)).map(({ id }) => id);
  expect(await list({ userId, limit: 5 })).toEqual([second, first]);
  expect(await list({ userId, limit: 5, state: 'accepted' })).toEqual([first]);
  expect(await list({ limit: 1 })).toEqual([second]);
  const answered = { state: 'accepted', responseStatus: 200, response: '{"job_id": 9007199254740993}' };
  expect(await findSubmission(db, first)).toMatchObject({ userId, ...answered, idempotencyKey: null });
  expect(await findSubmission(db, '999999')).toBeUndefined();
});

it('credits suffice from the floor on, digit by digit; unknown ones do not', async () => {
  const credits = (value: string) =>
    run(`insert into mirror.account (_user_id, credits, _raw, _hash, _first_seen_at, _changed_at, _change_id)
      values (${scene.user}, ${value}, '{}', '', now(), now(), 1)
      on conflict (_user_id) do update set credits = excluded.credits`);
  const why = (floor: string) => whyCreditsTooLow(scene.db, String(scene.user), floor);
  expect(await why('1')).toMatch(/the account’s credits are not known/);
  await credits('null');
  expect(await why('1')).toMatch(/the account’s credits are not known/);
  await credits('9007199254740993.1');
  expect(await why('9007199254740993.1')).toBeUndefined();
  expect(await why('9007199254740993.11')).toMatch(/fewer credits than MIRROR_CREDITS_FLOOR/);
});

it('what queued rows say of their wait takes the place of an earlier explanation, but not of an error of their own', async () => {
  const explain = (text?: string) => explainWait(scene.db, scene.fence, text);
  const [first, own] = [await queue(), await queue()];
  await run(`update mirror.submissions set error = 'POST returned 429' where submission_id = ${own}`);
  await explain('waits: not known');
  await explain('waits: too few');
  expect(await column('error')).toEqual(['waits: too few', 'POST returned 429']);
  await run(`update mirror.submissions set state = 'cancelled' where submission_id = ${first}`);
  await queue();
  await explain();
  await explain('waits: too few');
  await explain();
  expect(await column('error')).toEqual(['waits: too few', 'POST returned 429', null]);
});
