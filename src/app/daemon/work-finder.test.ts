import { afterEach, describe, expect, it } from 'vitest';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import type { Service } from '@research-mirror/runtime/service';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { workFinder } from './work-finder.ts';

let finder: Service | undefined;
afterEach(() => finder?.stop());

/** @param startDue answers looks for all, with milliseconds */
async function finding(startDue: () => Promise<number>) {
  const clock = new VirtualClock();
  const bell = new Doorbell();
  const looks: string[] = [];
  const failures: unknown[] = [];
  finder = workFinder({
    startDue: () => {
      looks.push('all');
      return startDue();
    },
    startWaiting: () => {
      looks.push('waiting');
      return Promise.resolve();
    },
    bell,
    clock,
    onFailure: (error) => failures.push(error),
  });
  await finder.start();
  await clock.advance(0);
  const during = async (ms: number): Promise<Record<string, number>> => {
    looks.length = 0;
    await clock.advance(ms);
    return Object.fromEntries(
      ['all', 'waiting'].map((what) => [what, looks.filter((each) => each === what).length]),
    );
  };
  return { bell, failures, during };
}

describe('the look for work', () => {
  it('asks each second what others left, and for runs only each ten seconds while none is due', async () => {
    const { during } = await finding(() => Promise.resolve(Number.POSITIVE_INFINITY));
    expect(await during(60_000)).toEqual({ all: 6, waiting: 54 });
  });

  it('asks for runs within a second after the next one is due, and each second while one is', async () => {
    let dueIn = 3_500;
    const { during } = await finding(() => Promise.resolve(dueIn));
    expect(await during(3_400)).toEqual({ all: 0, waiting: 3 });
    dueIn = 0;
    expect(await during(1_000)).toEqual({ all: 1, waiting: 0 });
    expect(await during(5_000)).toEqual({ all: 5, waiting: 0 });
  });

  it('asks for all at once when somebody rings, and five times a second at most', async () => {
    const { bell, during } = await finding(() => Promise.resolve(Number.POSITIVE_INFINITY));
    await during(500);
    bell.ring();
    expect(await during(0)).toEqual({ all: 1, waiting: 0 });
    let looks = 0;
    for (let ms = 0; ms < 1_000; ms += 10) {
      bell.ring();
      looks += (await during(10))['all'] ?? 0;
    }
    expect(looks).toBe(5);
  });

  it('asks for all each second after a failure, and tells of the first of a row', async () => {
    let broken = false;
    const { bell, failures, during } = await finding(() =>
      broken ? Promise.reject(new Error('no database')) : Promise.resolve(Number.POSITIVE_INFINITY),
    );
    await during(500);
    broken = true;
    bell.ring();
    expect(await during(5_000)).toEqual({ all: 6, waiting: 0 });
    expect(failures).toHaveLength(1);
    broken = false;
    expect(await during(1_000)).toEqual({ all: 1, waiting: 0 });
    expect(await during(1_000)).toEqual({ all: 0, waiting: 1 });
  });
});
