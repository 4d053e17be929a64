import { describe, expect, it } from 'vitest';
import { explainWait, whyCreditsTooLow } from '../../../src/db/submissions/waiting-submissions.ts';
import { storedSubmissions } from '../../support/submissions/stored-submissions.ts';

const scene = storedSubmissions();
const { run, queue } = scene;

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

  it('that nobody knows do not suffice: nothing is spent unseen', async () => {
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
