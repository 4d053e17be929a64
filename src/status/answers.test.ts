import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { describe, expect, it } from 'vitest';
import { sampleLatestRows, sampleReport } from '../../test/support/processes/status-report.ts';
import { answersOf } from './server.ts';

const SOURCES: Parameters<typeof answersOf>[0] = {
  status: async () => sampleReport(),
  latestRows: async () => sampleLatestRows(),
  ready: async () => ({ ok: true }),
  clock: new VirtualClock(),
};

describe('answers', () => {
  it('are shared by all requests within a second', async () => {
    const clock = new VirtualClock();
    let asked = 0;
    const status = async () => sampleReport({ version: String((asked += 1)) });
    const answers = answersOf({ ...SOURCES, clock, status });
    await clock.runUntil(Promise.all([answers.report(), answers.report(), answers.report()]));
    expect(asked).toBe(1);
    await clock.advance(1_000);
    expect(await clock.runUntil(answers.report())).toMatchObject({ report: { version: '2' } });
  });

  it('have no latest rows if an account can’t be read', async () => {
    const answers = answersOf({
      ...SOURCES,
      latestRows: () => Promise.reject(new Error('away')),
    });
    expect(await answers.latestRows('1')).toBeUndefined();
  });

  it('come in time if the database hangs, which is asked once', async () => {
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
