import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ID_FORMS, idForm, NUMERIC_ID_FORMS } from './id-form.ts';

function text(json: string): string {
  return json.startsWith('"') ? json.slice(1, -1) : json;
}

describe.each([...new Set([...ID_FORMS, ...NUMERIC_ID_FORMS])])('IDs of the form %s', (name) => {
  const slots = fc.integer({ min: 0, max: 50_000_000 });

  it('map back to their slot', () => {
    fc.assert(
      fc.property(slots, fc.nat({ max: 5000 }), (slot, shift) => {
        const form = idForm(name, 77, shift);
        const id = text(form.json(slot));
        expect(form.slotOf(id)).toBe(slot);
        expect(form.rankOf(id)).toBe(slot);
      }),
    );
  });

  it('map to no slot when the text differs', () => {
    const form = idForm(name, 5);
    for (const wrong of ['', 'x', '-1', '1', '01234', '1e3', 'acc_', 'acc_x', '00000000-0000', ' 1000']) {
      expect(form.slotOf(wrong)).toBeUndefined();
    }
  });
});

describe('IDs that rise with creation', () => {
  it('each have their own rank, with or without a slot', () => {
    const form = idForm('integer', 9);
    const places = Array.from({ length: 3000 }, (_, number) => form.rankOf(String(number)) ?? Number.NaN);
    expect(places.every((place, index) => index === 0 || place > (places[index - 1] ?? Infinity))).toBe(true);
  });

  it('do not fit doubles, or 64 bits, where their name says so', () => {
    const beyondDouble = [idForm('beyond-2^53', 9).json(0), idForm('beyond-2^53', 9).json(50_000_000)];
    expect(beyondDouble.every((id) => BigInt(id) > 2n ** 53n && BigInt(id) < 2n ** 63n)).toBe(true);
    expect(BigInt(idForm('beyond-2^63', 9).json(0))).toBeGreaterThan(2n ** 63n);
  });

  it('have gaps, whose numbers rank between their neighbours', () => {
    const form = idForm('integer', 9);
    const [low, high] = [Number(form.json(10)), Number(form.json(11))];
    const between = Array.from({ length: high - low - 1 }, (_, index) => String(low + 1 + index));
    expect(between.every((id) => Number(form.rankOf(id)) > 10 && Number(form.rankOf(id)) < 11)).toBe(true);
    expect(Number(form.json(1000)) - Number(form.json(0))).toBeGreaterThan(3000);
  });
});
