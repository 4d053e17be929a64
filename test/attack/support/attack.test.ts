import { expect, it } from 'vitest';
import { Tally } from './attack.ts';

it('the summary of an attack leaves out what games do that were interrupted', () => {
  const interrupt = new AbortController();
  const told: unknown[] = [];
  const tally = new Tally({ onGame: (result) => told.push(result), signal: interrupt.signal });
  const finding = { kind: 'claim', text: 'ended with 130' } as const;
  const result = { seed: 1, what: '', findings: [finding], counts: { games: 1 }, trace: [] };
  tally.add(result);
  interrupt.abort();
  tally.add(result);
  expect(told).toHaveLength(1);
  expect(tally.report()).toMatchObject({
    findings: { claim: 1 },
    counts: { games: 1, 'games interrupted': 1 },
  });
});
