import { describe, expect, it } from 'vitest';
import { answer, submittingRoles } from '../../support/submissions/submitting-roles.ts';

const scene = submittingRoles();
const { owner, submissions } = scene;

describe('cancel_submission()', () => {
  const queue = (): Promise<unknown> => answer(scene.submitter, `mirror.submit('research', '{}')`);

  it.each(['queued', 'held'])('cancels what is %s, for good', async (state) => {
    const id = await queue();
    await owner(`update mirror.submissions set state = '${state}'`);
    expect(await answer(scene.submitter, `mirror.cancel_submission(${String(id)})`)).toBe(true);
    expect(await owner('select state, done_at is not null as done from mirror.submissions')).toEqual([
      { state: 'cancelled', done: true },
    ]);
    expect(await answer(scene.submitter, `mirror.cancel_submission(${String(id)})`)).toBe(true);
  });

  it.each(['sending', 'accepted', 'rejected', 'unknown'])('refuses what is %s', async (state) => {
    const id = await queue();
    await owner(`update mirror.submissions set state = '${state}'`);
    expect(await answer(scene.submitter, `mirror.cancel_submission(${String(id)})`)).toBe(
      `RM017 submission ${String(id)} is ${state}: only queued and held ones can be cancelled`,
    );
    expect(await submissions()).toMatchObject([{ state }]);
  });

  it('is never refused for a state in which it could have had it', async () => {
    const id = await queue();
    await owner(`update mirror.submissions set state = 'sending'`);
    // As if its owner put it back right behind the statement that found it sending.
    await owner(`
      create function put_back() returns trigger language plpgsql as $$ begin
        if pg_trigger_depth() = 1 then update mirror.submissions set state = 'queued'; end if;
        return null;
      end $$;
      create trigger put_back after update on mirror.submissions for each statement execute function put_back()`);
    expect(await answer(scene.submitter, `mirror.cancel_submission(${String(id)})`)).toMatch(
      /^RM017 .* is sending:/,
    );
    await owner(`drop trigger put_back on mirror.submissions; drop function put_back()`);
  });

  it('says that there is none', async () => {
    expect(await answer(scene.submitter, `mirror.cancel_submission(99)`)).toBe(
      'RM017 there is no submission 99',
    );
    expect(await answer(scene.submitter, `mirror.cancel_submission(null)`)).toBe(
      'RM017 there is no submission NULL',
    );
  });

  it('finds it by its number without reading the whole table', async () => {
    await owner(`insert into mirror.submissions (_user_id, operation, payload, state, created_at)
      select 7, 'research', '{}', 'accepted', now() from generate_series(1, 5000); analyze mirror.submissions`);
    const plan = await owner('explain select _user_id from mirror.submissions where submission_id = 42');
    expect(JSON.stringify(plan)).toContain('submissions_id');
  });
});
