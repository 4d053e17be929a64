import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { describe, expect, it } from 'vitest';
import { sampleDetails, sampleReport } from '../../test/support/processes/status-report.ts';
import { answersOf, type Sources } from './answers.ts';

const SOURCES: Sources = {
  status: async () => sampleReport(),
  account: async () => sampleDetails(),
  ready: async () => ({ ok: true }),
  clock: new VirtualClock(),
};

describe('answers', () => {
  it('are shared by all who ask within a second', async () => {
    const clock = new VirtualClock();
    let asked = 0;
    const status = async () => sampleReport({ version: String((asked += 1)) });
    const answers = answersOf({ ...SOURCES, clock, status });
    await clock.runUntil(Promise.all([answers.report(), answers.report(), answers.report()]));
    expect(asked).toBe(1);
    await clock.advance(1_000);
    expect(await clock.runUntil(answers.report())).toMatchObject({ report: { version: '2' } });
  });

  it('of an account are read for all who ask within five seconds, one account at a time', async () => {
    const clock = new VirtualClock();
    const asked: string[] = [];
    const account = async (userId: string) => {
      asked.push(`${userId} from ${clock.monotonic()}`);
      await clock.sleep(1_000);
      return sampleDetails();
    };
    const answers = answersOf({ ...SOURCES, clock, account });
    const ask = (...users: string[]) =>
      clock.runUntil(Promise.all(users.map((user) => answers.account(user))));
    expect(await ask('1', '2', '1')).toEqual([sampleDetails(), sampleDetails(), sampleDetails()]);
    await clock.advance(2_000);
    await ask('1', '2');
    expect(asked).toEqual(['1 from 0', '2 from 1000']);
    await clock.advance(1_000);
    await ask('1', '2');
    expect(asked).toEqual(['1 from 0', '2 from 1000', '1 from 5000', '2 from 6000']);
  });

  it('of an account that can’t be read are none', async () => {
    const answers = answersOf({
      ...SOURCES,
      account: () => Promise.reject(new Error('away')),
    });
    expect(await answers.account('1')).toBeUndefined();
  });

  it('come in time from a database that hangs, which is asked once', async () => {
    const clock = new VirtualClock();
    let asked = 0;
    const hang = () => {
      asked += 1;
      return new Promise<never>(() => {});
    };
    const answers = answersOf({ ...SOURCES, clock, status: hang, ready: async () => await hang() });
    expect(await clock.runUntil(answers.report())).toEqual({ why: 'the database did not answer within 4 s' });
    await clock.runUntil(answers.report());
    expect(asked).toBe(1);
    expect(await clock.runUntil(answers.ready())).toMatchObject({ ok: false });
    expect(clock.monotonic()).toBe(12_000);
  });
});
