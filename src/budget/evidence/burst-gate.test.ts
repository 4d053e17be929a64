import { describe, expect, it } from 'vitest';
import { BurstGate } from './burst-gate.ts';

const SIZE = 10;

/** Ten accepted requests from `from` on, `every` ms apart, answered at once. @returns whether they are the proof */
function burst(gate: BurstGate, from: number, every: number): boolean {
  const moments = Array.from({ length: SIZE }, (_, i) => from + i * every);
  return moments.map((at) => gate.accepted(at, at, undefined, SIZE)).includes(true);
}

/** After two bursts, a window apart. */
function proven(): BurstGate {
  const gate = new BurstGate(0);
  expect([burst(gate, 0, 1_000), burst(gate, 61_000, 1_000)]).toEqual([false, true]);
  return gate;
}

describe('requests under way that are not spaced', () => {
  it('are half of what the service said it would accept, for some seconds', () => {
    const gate = new BurstGate(0);
    gate.accepted(0, 100, 8, SIZE);
    expect([gate.mostInFlight(200, SIZE, SIZE), gate.mostInFlight(10_100, SIZE, SIZE)]).toEqual([4, 1]);
  });

  it('heed the least of answers that may have overtaken each other', () => {
    const gate = new BurstGate(0);
    gate.accepted(0, 100, 2, SIZE);
    gate.accepted(10, 110, 8, SIZE);
    expect(gate.mostInFlight(200, SIZE, SIZE)).toBe(1);
    gate.accepted(20, 1_200, 8, SIZE);
    expect(gate.mostInFlight(1_200, SIZE, SIZE)).toBe(4);
  });

  it('are as many as one likes after two bursts, for as many slots and not for more, and one again after a 429', () => {
    const gate = proven();
    const most = [SIZE - 1, SIZE, SIZE + 1].map((size) => gate.mostInFlight(90_000, size, 2 * SIZE));
    expect([gate.provenSize, ...most]).toEqual([SIZE, Infinity, Infinity, 1]);
    gate.refused();
    expect(gate.mostInFlight(90_000, SIZE, SIZE)).toBe(1);
  });

  it.each([
    ['even requests', 60_000, 6_000],
    ['bursts with a pause between them, in which a bucket fills', 120_000, 100],
  ])('are not proven by %s', (_, apart, every) => {
    const gate = new BurstGate(0);
    expect([0, 1, 2, 3, 4].map((nth) => burst(gate, nth * apart, every))).not.toContain(true);
  });

  it('may follow each other sooner with each window’s worth that was accepted, and no sooner after a 429', () => {
    const gate = new BurstGate(0);
    const spacings = [gate.spacingMs(SIZE)];
    for (let i = 0; i < 20; i++) {
      burst(gate, i * 100_000, 9_000);
      spacings.push(gate.spacingMs(SIZE));
    }
    expect(spacings.slice(0, 3)).toEqual([3_600, 2_520, expect.closeTo(1_764)]);
    expect(spacings.at(-1)).toBe(300);
    gate.refused();
    expect(gate.spacingMs(SIZE)).toBe(3_600);
  });

  it('are half of those accepted in a row where the headers allow more than the specification', () => {
    const gate = new BurstGate(0);
    for (let i = 0; i < 40; i++) gate.accepted(i, i + 1, 4_900, 5_000);
    expect([100, 20_000].map((at) => gate.mostInFlight(at, 5_000, 60))).toEqual([20, 20]);
    gate.refused();
    expect(gate.mostInFlight(20_000, 5_000, 60)).toBe(1);
    expect(new BurstGate(0).mostInFlight(0, 5_000, 60)).toBe(1);
  });
});
