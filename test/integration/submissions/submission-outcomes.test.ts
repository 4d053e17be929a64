import { describe, expect, it } from 'vitest';
import { fenced } from '../../../src/postgres/fenced.ts';
import { DatabaseWentBack, LeaseLost } from '../../../src/model/errors.ts';
import type { SubmissionOutcome, SubmissionStore } from '../../../src/model/submission.ts';
import { storedSubmissions } from '../../support/submissions/stored-submissions.ts';
import { earlier } from '../../support/postgres/earlier.ts';

const scene = storedSubmissions();
const { run, storeOf, queue, takeover, row, state } = scene;

/** As if what is being sent had been claimed so many ms earlier. */
const age = (ms: number): Promise<unknown> =>
  run(
    `update mirror.submissions set _send_before = ${earlier('_send_before', `${ms} ms`)} where _user_id = ${scene.user}`,
  );
const accepted = (body: string): SubmissionOutcome => ({ state: 'accepted', status: 200, body });
const TIMEOUT = 30_000;
/** One that the first owner is sending. */
async function claimed(): Promise<string> {
  const id = await queue();
  await scene.store.claim(id);
  return id;
}

describe('an outcome', () => {
  const finished = async (outcome: SubmissionOutcome) => {
    const id = await claimed();
    await scene.store.finish(id, outcome);
    return row(id);
  };

  it('is stored whole, no digit lost', async () => {
    expect(await finished(accepted('{"job_id": 9007199254740993, "x": 1.10}'))).toMatchObject({
      state: 'accepted',
      response_status: 200,
      text: '{"x": 1.10, "job_id": 9007199254740993}',
      error: null,
      _verbatim: null,
      done_at: expect.any(Date) as Date,
    });
  });

  it('keeps the service’s words in an error, and a body that is no JSON as a string', async () => {
    const words = { body: 'no credits left', error: 'no \0 credits' };
    const kept = { response_status: 402, text: '"no credits left"', error: 'no \uFFFD credits' };
    expect(await finished({ state: 'rejected', status: 402, ...words })).toMatchObject({
      state: 'rejected',
      ...kept,
    });
    // A number beyond numeric.
    const stored = { state: 'accepted', text: '"{\\"a\\":1e999999}"', _verbatim: null };
    expect(await finished(accepted('{"a":1e999999}'))).toMatchObject(stored);
  });

  it('can be a body that is nested more deeply than PostgreSQL goes', async () => {
    const body = '['.repeat(30_000) + ']'.repeat(30_000);
    expect((await finished(accepted(body)))?.['response']).toBe(body);
  });

  it('is unknown until a moment from which looking is conclusive', async () => {
    const none = { status: undefined, body: undefined, error: 'no answer' };
    const row = await finished({ state: 'unknown', ...none, conclusiveInMs: 90_000 });
    expect(row).toMatchObject({
      state: 'unknown',
      response_status: null,
      response: null,
      error: 'no answer',
    });
    expect(Number(row?.['_conclusive_at']) - Number(row?.['done_at'])).toBe(90_000);
  });

  it('hints what the answer names, in the same transaction, where it is mirrored', async () => {
    const id = await claimed();
    await run(`alter table mirror_sync.hint add constraint broken check (key <> '77')`);
    await expect(scene.store.finish(id, accepted('{"job_id": 77}'))).rejects.toThrow(/broken/);
    expect(await state(id)).toBe('sending');
    await run('alter table mirror_sync.hint drop constraint broken');
    await scene.store.finish(id, accepted('{"job_id": 77, "list_id": 5}'));
    expect(await state(id)).toBe('accepted');
    const hints = await run(`select collection, key from mirror_sync.hint where _user_id = ${scene.user}`);
    expect(hints).toEqual([{ collection: 'research_jobs', key: '77' }]);
  });

  it('belongs to what was claimed here, and is written once', async () => {
    const id = await queue();
    await expect(scene.store.finish(id, accepted('{}'))).rejects.toThrow(RangeError);
    await scene.store.claim(id);
    await expect(storeOf(scene.fence).finish(id, accepted('{}'))).rejects.toThrow(RangeError);
    await scene.store.finish(id, accepted('{}'));
    await expect(scene.store.finish(id, accepted('{"again": 1}'))).rejects.toThrow(RangeError);
    expect(await row(id)).toMatchObject({ state: 'accepted', text: '{}' });
  });

  it('is not written by an owner whose lease is lost', async () => {
    const id = await claimed();
    await takeover();
    await expect(scene.store.finish(id, accepted('{}'))).rejects.toThrow(LeaseLost);
    expect(await state(id)).toBe('sending');
  });
});

describe('where the database went back behind', () => {
  // Nobody looks at such a row again: it would be "sending" until the account is opened anew.
  it.each<[string, (store: SubmissionStore, id: string) => Promise<unknown>]>([
    ['an outcome', (store, id) => store.finish(id, accepted('{}'))],
    ['what was given up', (store) => age(100_000).then(() => store.recover(TIMEOUT, []))],
  ])('%s, its owner misses it at whatever it writes next', async (_name, write) => {
    const { db, fence, user } = scene;
    const { store } = scene;
    const id = await claimed();
    const [before] = await run(`select change_id from mirror_sync.account where _user_id = ${user}`);
    await write(store, id);
    await run(`update mirror_sync.account set change_id = ${String(before?.['change_id'])} where _user_id = ${user}`);
    await expect(fenced(db, fence, () => Promise.resolve())).rejects.toBeInstanceOf(DatabaseWentBack);
  });
});

describe('what an earlier owner was sending', () => {
  it('is left alone until its request must be over, then its outcome is unknown for good', async () => {
    const id = await claimed();
    const next = storeOf(await takeover());
    const due = await next.recover(TIMEOUT, []);
    expect(due).toBeGreaterThan(55_000);
    expect(due).toBeLessThanOrEqual(5_000 + TIMEOUT + 30_000);
    // Less than the test itself may take.
    await age(5_000 + TIMEOUT + 30_000 - 10_000);
    expect(await next.recover(TIMEOUT, [])).toBeLessThanOrEqual(10_000);
    expect(await state(id)).toBe('sending');
    await age(10_000);
    expect(await next.recover(TIMEOUT, [])).toBeUndefined();
    expect(await row(id)).toMatchObject({
      state: 'unknown',
      error: 'the program that sent it ended before it had an answer: it may have taken effect',
      _conclusive_at: expect.any(Date) as Date,
    });
    expect(await next.queued(10)).toEqual([]);
    expect(await next.claim(id)).toBeUndefined();
    await expect(scene.store.finish(id, accepted('{}'))).rejects.toThrow(LeaseLost);
  });

  it('is settled by a late answer that the same owner has after all; but never sent again', async () => {
    const [answered, unsent] = [await claimed(), await claimed()];
    await age(100_000);
    await scene.store.recover(TIMEOUT, []);
    await scene.store.finish(answered, accepted('{}'));
    await scene.store.finish(unsent, { state: 'queued', error: 'not sent', retryInMs: 0 });
    expect([await state(answered), await state(unsent)]).toEqual(['accepted', 'unknown']);
  });

  it('is not what is under way here, however long that takes', async () => {
    const [own, left] = [await claimed(), await claimed()];
    await age(100_000);
    expect(await scene.store.recover(TIMEOUT, [own])).toBeUndefined();
    expect([await state(own), await state(left)]).toEqual(['sending', 'unknown']);
    expect(await scene.store.recover(TIMEOUT, [])).toBeUndefined();
    expect(await state(own)).toBe('unknown');
  });

  it('is another account’s own matter', async () => {
    const id = await claimed();
    await age(100_000);
    await scene.nextAccount();
    expect(await storeOf(scene.fence).recover(TIMEOUT, [])).toBeUndefined();
    expect(await state(id)).toBe('sending');
  });
});
