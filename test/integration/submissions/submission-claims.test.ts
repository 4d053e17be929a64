import { Db } from '../../../src/postgres/db.ts';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { dueWork } from '../../../src/daemon/work-finder.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { LeaseLost } from '../../../src/model/errors.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { sessionsWaiting } from '../../support/postgres/sessions-waiting.ts';
import { storedSubmissions } from '../../support/submissions/stored-submissions.ts';

const scene = storedSubmissions();
const { run, storeOf, queue, takeover, cancel, row, state, ids } = scene;

const isDue = async () => [...(await dueWork(scene.db, [], [], new Date())).submitting].includes(String(scene.user));
const update = (id: string, set: string) => run(`update mirror.submissions set ${set} where submission_id = ${id}`);

describe('a claim', () => {
  it('commits that the submission is being sent, and gives what is to be sent', async () => {
    const id = await queue(`'sequence', '{"n": 9007199254740993}', '12'`);
    const [queued] = await scene.store.queued(1);
    expect(queued).toEqual({
      id,
      operation: 'sequence',
      targetId: '12',
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    });
    const claimed = { ...queued, payload: '{"n": 9007199254740993}', sendBeforeMs: 5_000 };
    expect(await scene.store.claim(id)).toEqual(claimed);
    const [sent] = await run(`
      select state, _send_before - sent_at = interval '5 s' as bound, clock_timestamp() - sent_at < interval '60 s' as now
      from mirror.submissions where submission_id = ${id}`);
    expect(sent).toEqual({ state: 'sending', bound: true, now: true });
    expect(await ids()).toEqual([]);
  });

  it('is had by one of many that try it at once', async () => {
    const id = await queue();
    const claim = () => storeOf(scene.fence).claim(id);
    const tries = await Promise.all(Array.from({ length: 10 }, claim));
    expect(tries.filter((claim) => claim !== undefined)).toHaveLength(1);
  });

  it.each([true, false])(
    'and a cancellation that stand before the row together: one of them has it (the claim came first: %s)',
    async (claimFirst) => {
      const id = await queue();
      const claim = () => scene.store.claim(id).catch(messageOf);
      const cancellation = () => cancel(id).catch(messageOf);
      const came: Promise<unknown>[] = [];
      await scene.db.kysely.transaction().execute(async (trx) => {
        await sql`select from mirror.submissions where submission_id = ${id} for update`.execute(trx);
        for (const come of claimFirst ? [claim, cancellation] : [cancellation, claim]) {
          came.push(come());
          while ((await sessionsWaiting(run)) !== came.length);
        }
      });
      const [won, lost] = await Promise.all(came);
      if (claimFirst) {
        expect(won).toMatchObject({ id });
        expect(lost).toMatch(/is sending: only queued and held ones can be cancelled/);
      } else expect(lost).toBeUndefined();
      expect(await state(id)).toBe(claimFirst ? 'sending' : 'cancelled');
    },
  );

  it('is refused to an owner whose lease is lost', async () => {
    const id = await queue();
    await takeover();
    await expect(scene.store.claim(id)).rejects.toThrow(LeaseLost);
    expect(await state(id)).toBe('queued');
  });

  it('is refused before the last attempt is finished', async () => {
    const id = await queue();
    await scene.store.claim(id);
    await update(id, `state = 'queued'`);
    expect(await scene.store.claim(id)).toBeUndefined();
    await scene.store.finish(id, { state: 'queued', error: 'refused connection', retryInMs: 0 });
    expect(await scene.store.claim(id)).toBeDefined();
  });

  it('whose commit is unknown is taken back, since nothing was sent', async () => {
    const [lost, never, again, other] = [await queue(), await queue(), await queue(), await queue()];
    let silent: 'after the commit' | 'before it' | undefined;
    const db = new Proxy(scene.db.kysely, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name !== 'transaction' || silent === undefined)
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        const execute = async (work: (trx: never) => Promise<unknown>) => {
          if (silent === 'after the commit') await target.transaction().execute(work as never);
          throw new DatabaseUnavailable('connection lost');
        };
        return () => ({ execute });
      },
    });
    const store = storeOf(scene.fence, new Db(db, 'mirror'));
    await store.claim(other);
    silent = 'after the commit';
    await expect(store.claim(lost)).rejects.toThrow(DatabaseUnavailable);
    silent = 'before it';
    await expect(store.claim(never)).rejects.toThrow(DatabaseUnavailable);
    await expect(store.claim(again)).rejects.toThrow(DatabaseUnavailable);
    silent = undefined;
    expect([await state(lost), await state(never)]).toEqual(['sending', 'queued']);
    expect(await store.claim(again)).toBeDefined();
    expect(await store.claim(lost)).toBeUndefined();
    expect((await store.queued(10)).map(({ id }) => id)).toEqual([lost, never]);
    expect(await state(again)).toBe('sending');
    expect(await row(lost)).toMatchObject({ state: 'queued', sent_at: null, _send_before: null });
    expect(await state(other)).toBe('sending');
    expect(await store.claim(lost)).toBeDefined();
  });
});

describe('what is queued', () => {
  it('is not put off to a moment further ahead than any wait: the database’s clock went back', async () => {
    const id = await queue();
    await update(id, `_not_before = now() + interval '1 hour'`);
    expect(await ids()).toEqual([id]);
    expect(await isDue()).toBe(true);
    await cancel(id);
  });

  it('comes oldest first, up to the limit of each operation, and of this account alone', async () => {
    const research = [await queue(), await queue(), await queue()];
    const enrich = await queue(`'enrich', '{}'`);
    await scene.nextAccount();
    await queue();
    expect(await ids(2)).toEqual([research[0], research[1], enrich]);
  });

  it('waits as long as its last attempt asked for, and lets those behind it pass', async () => {
    const [first, second] = [await queue(), await queue()];
    await scene.store.claim(first);
    const queued = { state: 'queued', error: '429: asked for a wait' } as const;
    await scene.store.finish(first, { ...queued, retryInMs: 60_000 });
    expect(await row(first)).toMatchObject({ ...queued, sent_at: null, _send_before: null, done_at: null });
    expect(await ids()).toEqual([second]);
    await cancel(second);
    expect(await isDue()).toBe(false);
    await update(first, `_not_before = now() - interval '1 ms'`);
    expect(await ids()).toEqual([first]);
    expect(await isDue()).toBe(true);
  });

  it('is found by the index of what is open, however much is done', async () => {
    await run(`insert into mirror.submissions (_user_id, operation, payload, state, created_at, done_at)
      select ${scene.user}, 'research', '{}', 'accepted', now(), now() from generate_series(1, 20000)`);
    await queue();
    await run('analyze mirror.submissions');
    const plan = await run(`explain select a._user_id from mirror_sync.account as a where exists (
      select from mirror.submissions as s where s._user_id = a._user_id and s.state = 'queued'
        and (s._not_before is null or s._not_before <= clock_timestamp()))`);
    expect(JSON.stringify(plan)).toContain('submissions_queued');
    expect(JSON.stringify(plan)).not.toContain('Seq Scan on submissions');
    await run(`delete from mirror.submissions where _user_id = ${scene.user}`);
  });
});
