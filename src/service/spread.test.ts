import { describe, expect, it } from 'vitest';
import { BudgetSetup } from '../../test/support/budget/budget-setup.ts';
import { PRIORITY, type Priority } from './rate-groups.ts';

const MINUTE = 60_000;

/** A budget of 48 a minute of which a full walk takes all it can; `sent` has the moments of its requests. */
async function beside(high: boolean) {
  const setup = new BudgetSetup();
  const { clock } = setup;
  const budget = await setup.budget(0.8);
  /** @returns when it was sent */
  const send = async (priority: Priority): Promise<number> =>
    (await setup.send(budget, '', { priority })).receivedAt - 50;
  const sent: number[] = [];
  const walk = async (): Promise<never> => {
    for (;;) sent.push(await send(PRIORITY.FULL));
  };
  if (high) await clock.runUntil(send(PRIORITY.HINT));
  void walk();
  const sentIn = (from: number, to = Infinity): number => sent.filter((at) => at >= from && at < to).length;
  return { clock, sentIn, send };
}

describe('a full walk that takes all slots', () => {
  it('takes them as fast as it can while no request of high priority comes', async () => {
    const { clock, sentIn } = await beside(false);
    await clock.advance(5 * MINUTE);
    expect(sentIn(0, 10_000)).toBe(48);
    expect(sentIn(0)).toBeGreaterThanOrEqual(5 * 47);
  });

  it('leaves one within two seconds to a request of high priority, once they have come free for the first time', async () => {
    const { clock, sentIn, send } = await beside(true);
    await clock.advance(2 * MINUTE);
    const waits: number[] = [];
    for (let times = 0; times < 40; times += 1) {
      const came = clock.monotonic();
      waits.push((await clock.runUntil(send(PRIORITY.HINT))) - came);
      await clock.advance(7_310);
    }
    expect(Math.max(...waits)).toBeLessThan(2_000);
    // All that the budget allows: 48 in a minute, the answers' way and the guard.
    const possible = ((clock.monotonic() - 2 * MINUTE) * 48) / (MINUTE + 300);
    expect(sentIn(2 * MINUTE) + waits.length).toBeGreaterThan(0.97 * possible);
  });

  it('takes half of them at once also then: a short one is not held up', async () => {
    const { clock, sentIn } = await beside(true);
    await clock.advance(5_000);
    expect(sentIn(0)).toBeGreaterThanOrEqual(23);
  });
});
