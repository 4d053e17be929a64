import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ENOUGH, playing, script, variants } from '../../test/support/walks/walk-arbitraries.ts';
import { WalkClient } from '../../test/support/walks/walk-client.ts';
import { WalkSource } from '../../test/support/walks/walk-source.ts';
import { runs } from '../../test/support/effort.ts';

it('a full walk reads every row that existed throughout, crashes or not', () => {
  fc.assert(
    fc.property(
      variants('falling', 'rising', 'shuffled'),
      fc.array(fc.record({ requests: fc.integer({ min: 1, max: 4 }), steps: script }), { maxLength: 5 }),
      (variant, crashes) => {
        const source = new WalkSource(variant, 30);
        const client = new WalkClient(source);
        const before = source.liveKeys();
        let running = client.beginFull();
        for (const { requests, steps } of crashes) {
          const play = playing(source, steps);
          for (let i = 0; i < requests; i += 1) {
            play();
            running = client.once(running) ?? running;
          }
          if (running.ask.type === 'end') break;
          running = client.restarted(running);
        }
        expect(client.run(running, ENOUGH)?.outcome).toBe('complete');
        const now = new Set(source.liveKeys());
        expect(before.filter((key) => now.has(key) && !client.mirror.has(key))).toEqual([]);
      },
    ),
    { numRuns: runs(160, 800) },
  );
});

it('a full walk earns an order only while every page since it began agrees with it', () => {
  fc.assert(
    fc.property(variants('updated', 'score', 'shuffled'), fc.array(script, { maxLength: 5 }), (variant, scripts) => {
      const source = new WalkSource(variant, 30);
      const client = new WalkClient(source);
      for (const steps of scripts) {
        client.pages.length = 0;
        const end = client.run(client.beginFull(), ENOUGH, playing(source, steps));
        if (client.pages.some(disordered)) expect(client.grade).toBe('none');
        expect(end?.outcome).toMatch(/complete|failed/);
      }
    }),
    { numRuns: runs(60, 300) },
  );
});

it('a full walk never trusts a list by last change, which keeps changed rows at its top', () => {
  fc.assert(
    fc.property(
      fc.record({ ...FALLING_BY_CHANGE, pageSize: fc.integer({ min: 5, max: 30 }) }),
      fc.array(fc.array(fc.nat(40), { maxLength: 6 }), { maxLength: 12 }),
      (variant, updates) => {
        const source = new WalkSource(variant, 40);
        const client = new WalkClient(source);
        client.run(client.beginFull(), ENOUGH);
        for (const rows of updates) {
          for (const row of rows) source.update(row);
          if (client.run(client.beginPoll(), ENOUGH)?.outcome === 'full-needed') {
            client.run(client.beginFull(), ENOUGH);
          }
          expect(client.grade).not.toBe('trusted');
        }
      },
    ),
    { numRuns: runs(60, 300) },
  );
});

const FALLING_BY_CHANGE = {
  order: fc.constant('updated' as const),
  cursor: fc.constantFrom('keyset' as const, 'inclusive' as const),
  hasMore: fc.constant('exact' as const),
};

function disordered(keys: readonly string[]): boolean {
  const numbers = keys.map(Number);
  const falls = numbers.some((n, i) => i > 0 && n < (numbers[i - 1] ?? n));
  const rises = numbers.some((n, i) => i > 0 && n > (numbers[i - 1] ?? n));
  return falls && rises;
}
