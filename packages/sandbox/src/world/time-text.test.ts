import { describe, expect, it } from 'vitest';
import { TIME_FORMS, timeText } from './time-text.ts';

const MOMENT = Date.UTC(2026, 10, 21, 13, 6, 53) + 42;

describe('a time', () => {
  it.each([
    ['z', '"2026-11-21T13:06:53Z"'],
    ['offset', '"2026-11-21T13:06:53+00:00"'],
    ['none', '"2026-11-21T13:06:53"'],
    ['fraction', '"2026-11-21T13:06:53.042294Z"'],
    ['epoch', '1795266413'],
    ['epoch-ms', '1795266413042'],
  ] as const)('is spelled %s as %s', (form, text) => {
    expect(timeText(MOMENT, form)).toBe(text);
  });

  it.each(TIME_FORMS)('is JSON in the form %s, equal for equal times, and null for none', (form) => {
    for (let second = 0; second < 60; second += 1) {
      const text = timeText(MOMENT + second * 1000, form);
      expect(() => JSON.parse(text) as unknown).not.toThrow();
      expect(timeText(MOMENT + second * 1000, form)).toBe(text);
    }
    expect(timeText(undefined, form)).toBe('null');
  });

  it('may be in all forms, or be no time at all', () => {
    const forms = (form: 'mixed' | 'broken'): Set<string> =>
      new Set(Array.from({ length: 60 }, (_, second) => timeText(MOMENT + second * 1000, form).slice(19)));
    expect(forms('mixed').size).toBeGreaterThan(4);
    const broken = Array.from({ length: 60 }, (_, n) => timeText(MOMENT + n * 1000, 'broken'));
    expect(
      broken.every((text) => Number.isNaN(Date.parse(JSON.parse(text) as string)) || text.includes('275760')),
    ).toBe(true);
  });
});
