import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ID_FORMS, idForm, NUMERIC_ID_FORMS } from './id-form.ts';

describe.each([...new Set([...ID_FORMS, ...NUMERIC_ID_FORMS])])('IDs of the form %s', (name) => {
  it('map back to their slot', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 50_000_000 }), fc.nat({ max: 5000 }), (slot, shift) => {
        const form = idForm(name, 77, shift);
        const id = form.json(slot).replaceAll('"', '');
        expect([form.slotOf(id), form.rankOf(id)]).toEqual([slot, slot]);
      }),
    );
  });

  it('map to no slot when the text differs', () => {
    const wrong = ['', 'x', '-1', '1', '01234', '1e3', 'acc_', 'acc_x', '00000000-0000', ' 1000'];
    expect(wrong.filter((text) => idForm(name, 5).slotOf(text) !== undefined)).toEqual([]);
  });
});

describe('IDs that rise with creation', () => {
  it('each have their own rank, with or without a slot: those in gaps between their neighbours', () => {
    const form = idForm('integer', 9);
    const places = Array.from({ length: 3000 }, (_, number) => form.rankOf(String(number)) ?? Number.NaN);
    expect(places.every((place, index) => index === 0 || place > (places[index - 1] ?? Infinity))).toBe(true);
    expect(Number(form.json(1000)) - Number(form.json(0))).toBeGreaterThan(3000);
  });

  it('do not fit doubles, or 64 bits, where their name says so', () => {
    const beyondDouble = [0, 50_000_000].map((slot) => BigInt(idForm('beyond-2^53', 9).json(slot)));
    expect(beyondDouble.every((id) => id > 2n ** 53n && id < 2n ** 63n)).toBe(true);
    expect(BigInt(idForm('beyond-2^63', 9).json(0))).toBeGreaterThan(2n ** 63n);
  });
});
