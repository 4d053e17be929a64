import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { indexKeeper } from './index-keeper.ts';
import type { IndexOutcome } from './index-work.ts';

const HOUR = 3_600_000;

/** A keeper whose looks end as `looks` says, the last one for ever. */
function keeperOf(...looks: (readonly IndexOutcome[] | Error)[]) {
  const clock = new VirtualClock();
  const at: number[] = [];
  const said: string[] = [];
  const say = (message: string): void => void said.push(message);
  const keeper = indexKeeper({
    keep: () => {
      const look = looks[Math.min(at.length, looks.length - 1)] ?? [];
      at.push(clock.monotonic());
      return look instanceof Error ? Promise.reject(look) : Promise.resolve(look);
    },
    clock,
    log: { info: say, warn: say },
  });
  return { clock, keeper, at, said };
}

describe('the keeper of optional indexes', () => {
  it('looks a minute after the start, then each hour, and says what it made', async () => {
    const { clock, keeper, at, said } = keeperOf(
      [{ name: 'lists_by_key', outcome: 'made', error: null }],
      [],
    );
    await keeper.start();
    await clock.advance(2 * HOUR + 60_000);
    expect(at).toEqual([60_000, HOUR + 60_000, 2 * HOUR + 60_000]);
    expect(said).toEqual(['optional index lists_by_key: made']);
    await keeper.stop();
  });

  it('goes on after trouble, and says the same trouble once', async () => {
    const failed = { name: 'lists_by_key', outcome: 'failed', error: 'no right' } as const;
    const { clock, keeper, at, said } = keeperOf(new Error('no database'), [failed], [failed], [], [failed]);
    await keeper.start();
    await clock.advance(5 * HOUR);
    expect(at).toHaveLength(5);
    expect(said).toEqual([
      'optional indexes: no database',
      'optional index lists_by_key: no right',
      'optional index lists_by_key: no right',
    ]);
    await keeper.stop();
  });
});
