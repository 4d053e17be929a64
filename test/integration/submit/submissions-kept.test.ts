import { describe, expect, it } from 'vitest';
import {
  findSubmission,
  listSubmissions,
  pruneSubmissions,
} from '../../../src/db/submissions/stored-submissions.ts';
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
