import { afterEach, expect, it } from 'vitest';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import type { Service } from '@research-mirror/runtime/service';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { workFinder } from './work-finder.ts';

let finder: Service | undefined;
afterEach(() => finder?.stop());

/** `is.dueIn`: answer of looks for all, milliseconds; undefined: they fail. */
async function finding(dueIn = Infinity) {
  const is: { dueIn: number | undefined } = { dueIn };
  const clock = new VirtualClock();
  const bell = new Doorbell();
  let looks = { all: 0, waiting: 0 };
  const failures: unknown[] = [];
  finder = workFinder(
    async () => {
      looks.all += 1;
      if (is.dueIn === undefined) throw new Error('no database');
      return is.dueIn;
    },
    async () => {
      looks.waiting += 1;
    },
    bell,
    clock,
    (error) => failures.push(error),
  );
  await finder.start();
  await clock.advance(0);
  const during = async (ms: number) => {
    looks = { all: 0, waiting: 0 };
    await clock.advance(ms);
    return looks;
  };
  return { is, bell, failures, during };
}

it('the finder looks for others’ work each second, and for runs each ten seconds while none is due', async () => {
  const { during } = await finding();
  expect(await during(60_000)).toEqual({ all: 6, waiting: 54 });
});

it('the finder looks for runs within a second after the next one is due, and each second while one is', async () => {
  const { is, during } = await finding(3_500);
  expect(await during(3_400)).toEqual({ all: 0, waiting: 3 });
  is.dueIn = 0;
  expect(await during(1_000)).toEqual({ all: 1, waiting: 0 });
  expect(await during(5_000)).toEqual({ all: 5, waiting: 0 });
});

it('a ring makes the finder look for all at once, five times a second at most', async () => {
  const { bell, during } = await finding();
  await during(500);
  bell.ring();
  expect(await during(0)).toEqual({ all: 1, waiting: 0 });
  let looks = 0;
  for (let ms = 0; ms < 1_000; ms += 10) {
    bell.ring();
    looks += (await during(10)).all;
  }
  expect(looks).toBe(5);
});

it('the finder looks for all each second after a failure, and reports each failure', async () => {
  const { is, bell, failures, during } = await finding();
  await during(500);
  is.dueIn = undefined;
  bell.ring();
  expect(await during(5_000)).toEqual({ all: 6, waiting: 0 });
  expect(failures).toHaveLength(6);
  is.dueIn = Infinity;
  expect(await during(1_000)).toEqual({ all: 1, waiting: 0 });
  expect(await during(1_000)).toEqual({ all: 0, waiting: 1 });
});
