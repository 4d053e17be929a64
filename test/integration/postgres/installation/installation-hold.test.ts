import { beforeEach, describe, expect, it } from 'vitest';
import { SUBMISSION_STATES } from '../../../../src/model/submission.ts';
import { releaseSubmissions } from '../../../../src/postgres/hold.ts';
import { createInstallation, openInstallation } from '../../../../src/postgres/installation.ts';
import { installed } from '../../../support/databases/installed.ts';
import { heldClock } from './held-clock.ts';
import { shadowClock } from '../../../support/clocks/shadowed-clock.ts';
import { OPERATOR } from '../../../support/mirror/operator.ts';

const scene = installed();
const { run, open, options, queue, states, storeOf, silence } = scene;

describe('a gap without a daemon', () => {
  beforeEach(() => open());

  it('of more than ten minutes holds queued submissions', async () => {
    await queue();
    await silence(11 * 60);
    expect((await open())?.why).toMatch(/no daemon ran for 11 minutes/);
    await releaseSubmissions(scene.database.db, OPERATOR);
    expect(await states()).toEqual(['queued']);
    await silence(11 * 60);
    expect(await open()).toBeDefined();
    expect(await states()).toEqual(['held']);
  });

  it('of less time, or without queued submissions, holds nothing', async () => {
    await queue();
    await silence(9 * 60);
    expect(await open()).toBeUndefined();
    const [queued] = await storeOf().queued(1);
    await storeOf().claim(queued?.id ?? '');
    await silence(24 * 3_600);
    expect(await open()).toBeUndefined();
  });

  it('lets nothing be claimed before a process has checked the database', async () => {
    await queue();
    const [queued] = await storeOf().queued(1);
    await silence(11 * 60);
    expect(await storeOf().claim(queued?.id ?? '')).toBeUndefined();
    expect(await states()).toEqual(['queued']);
    await open();
    expect(await states()).toEqual(['held']);
  });

  it('is assumed of a database that no process has opened', async () => {
    await queue();
    await run('delete from mirror_sync.installation');
    await expect(storeOf().claim('1')).rejects.toThrow(/openInstallation/);
  });
});

describe('a step of the clock ahead', () => {
  /** A daemon's looks with submissions queued. Between the first two the database's clock steps. */
  const lookAfter = async (wallMs: number) => {
    await open();
    const step = await shadowClock(scene.database.url);
    const { db } = await scene.opened(scene.database.url);
    const { clock, asleep, next } = heldClock();
    let wall = Date.now();
    const log = { warn: () => {}, info: () => {} };
    const service = createInstallation({ ...options({ db }), log, clock: { ...clock, now: () => wall } });
    await service.start();
    await asleep();
    await queue();
    await step(3_600_000);
    wall += wallMs;
    await next();
    const claimed = await storeOf(7, { db }).claim('1');
    await service.stop();
    return { hold: service.hold()?.why, isSent: claimed !== undefined };
  };

  it('holds nothing, and queued submissions are sent within 4 s: the process ran all the time', async () => {
    expect(await lookAfter(4_000)).toEqual({ hold: undefined, isSent: true });
  });

  it('holds queued submissions if this machine’s clock went ahead, too: both may have been set back', async () => {
    expect(await lookAfter(3_600_000)).toEqual({
      hold: expect.stringMatching(/^no daemon ran for 60 minutes by the database’s clock/) as string,
      isSent: false,
    });
  });
});

it('a step of the clock back leaves each sign of life later than the one before, which still shows an older database', async () => {
  const step = await shadowClock(scene.database.url);
  const { db } = await scene.opened(scene.database.url);
  const look = async () => (await openInstallation(options({ db }))).aliveAt?.getTime() ?? 0;
  const first = await look();
  await step(-3_600_000);
  const [second, third] = [await look(), await look()];
  expect([second > first, third > second]).toEqual([true, true]);
  expect(await run('select from mirror.recoveries')).toEqual([]);
});

describe('a hold', () => {
  it('that was released while no daemon ran has ended for the next one', async () => {
    await open();
    await queue();
    await silence(3_600);
    expect(await open()).toBeDefined();
    await silence(3_600);
    await releaseSubmissions(scene.database.db, OPERATOR);
    expect(await open()).toBeUndefined();
    expect(await states()).toEqual(['queued']);
  });

  it('is logged once by the service that writes signs of life, as is its end', async () => {
    const said: string[] = [];
    const { clock, waits, asleep, next } = heldClock();
    const say = (line: string): number => said.push(line);
    const service = createInstallation({ ...options(), log: { warn: say, info: say }, clock });
    await service.start();
    await asleep();
    expect(service.hold()).toBeUndefined();
    await queue();
    await silence(11 * 60);
    // Its sign of life is lost, which the next look notices, before the next sign of life.
    await next();
    expect(service.hold()).toBeDefined();
    expect(await states()).toEqual(['held']);
    await releaseSubmissions(scene.database.db, OPERATOR);
    // A minute passes, with a look each 4 s and a sign of life at its end.
    for (let looks = 0; looks < 15; looks += 1) await next();
    expect(service.hold()).toBeUndefined();
    expect(new Set(waits)).toEqual(new Set([4_000]));
    await service.stop();
    expect(said).toEqual([
      expect.stringMatching(/^queued submissions are on hold: .*research-mirror submissions release/) as string,
      'the hold is over: submissions are sent',
    ]);
  });
});

/** One submission in each state, in the order of `SUBMISSION_STATES`. */
const oneInEachState = () =>
  run(`insert into mirror.submissions (_user_id, operation, payload, state, created_at)
    select 7, 'research', '{}', unnest('{${SUBMISSION_STATES.join()}}'::text[]), now()`);
const statesAfter = (from: string, to: string) => SUBMISSION_STATES.map((state) => (state === from ? to : state));

it('a hold takes queued submissions and nothing else; its release queues held ones and nothing else', async () => {
  await open();
  await oneInEachState();
  await silence(11 * 60);
  expect((await open())?.why).toMatch(/no daemon ran/);
  expect(await states()).toEqual(statesAfter('queued', 'held'));
  expect(await releaseSubmissions(scene.database.db, OPERATOR)).toBe(2);
  expect(await states()).toEqual(statesAfter('held', 'queued'));
});

it('another database holds nothing if all submissions are done, and all queued ones if one is open', async () => {
  await open();
  await oneInEachState();
  const forget = `update mirror_sync.installation set fingerprint = null`;
  await run(`delete from mirror.submissions where state in ('held', 'queued', 'sending')`);
  await run(forget);
  expect(await open()).toBeUndefined();
  await run(`update mirror.submissions set state = 'sending' where state = 'unknown'`);
  await run(forget);
  expect((await open())?.why).toMatch(/before any daemon saw this database/);
});
