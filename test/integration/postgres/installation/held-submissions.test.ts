import { expect, it } from 'vitest';
import { releaseSubmissions } from '../../../../src/postgres/hold.ts';
import { SUBMISSION_STATES } from '../../../../src/model/submission.ts';
import { installed } from '../../../support/databases/installed.ts';
import { OPERATOR } from '../../../support/mirror/operator.ts';

const scene = installed();
const { run, open, states, silence } = scene;

/** One submission in each state, in the order of `SUBMISSION_STATES`. */
async function oneInEachState(): Promise<void> {
  for (const state of SUBMISSION_STATES) {
    await run(
      `insert into mirror.submissions (_user_id, operation, payload, state, created_at)
       values (7, 'research', '{}', '${state}', now())`,
    );
  }
}

const ON_HOLD = SUBMISSION_STATES.map((state) => (state === 'queued' ? 'held' : state));
const RELEASED = SUBMISSION_STATES.map((state) => (state === 'held' ? 'queued' : state));

it('a hold takes what is queued and nothing else; its release queues what was held and nothing else', async () => {
  await open();
  await oneInEachState();
  await silence(11 * 60);
  expect((await open())?.why).toMatch(/no daemon was running/);
  expect(await states()).toEqual(ON_HOLD);
  expect(await releaseSubmissions(scene.database.db, OPERATOR)).toBe(2);
  expect(await states()).toEqual(RELEASED);
});

it('a database of another origin holds nothing where all that was sent is done, and everything where something is open', async () => {
  await open();
  await oneInEachState();
  const forget = `update mirror_sync.installation set fingerprint = null`;
  await run(`delete from mirror.submissions where state in ('held', 'queued', 'sending')`);
  await run(forget);
  expect(await open()).toBeUndefined();
  await run(`update mirror.submissions set state = 'sending' where state = 'unknown'`);
  await run(forget);
  expect((await open())?.why).toMatch(/before any daemon had seen this database/);
});
