import { describe, expect, it } from 'vitest';
import { absolute } from './page-table.ts';

const AT = '2026-03-01T12:00:00.000Z';

describe('figures', () => {
  it('of moments leave out the date of the day', () => {
    expect(absolute('2026-03-01T01:02:03+02:00', AT)).toBe('2026-02-28 23:02:03 UTC');
    expect(absolute('2026-03-01T01:02:03Z', AT)).toBe('01:02:03 UTC');
  });
});
