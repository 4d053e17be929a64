import { expect, it } from 'vitest';
import { TIME_FORMS, timeText } from './time-text.ts';

const MOMENT = Date.UTC(2026, 10, 21, 13, 6, 53) + 42;

it.each([
  ['z', '"2026-11-21T13:06:53Z"'],
  ['offset', '"2026-11-21T13:06:53+00:00"'],
  ['none', '"2026-11-21T13:06:53"'],
  ['fraction', '"2026-11-21T13:06:53.042294Z"'],
  ['epoch', '1795266413'],
  ['epoch-ms', '1795266413042'],
] as const)('a time is spelled %s as %s', (form, text) => {
  expect(timeText(MOMENT, form)).toBe(text);
});

it.each(TIME_FORMS)('a time in the form %s is equal for equal times, and null for none', (form) => {
  expect(timeText(MOMENT, form)).toBe(timeText(MOMENT, form));
  expect(timeText(undefined, form)).toBe('null');
});

it('a time may be in all forms, or be no time at all', () => {
  const texts = (form: 'mixed' | 'broken'): string[] =>
    Array.from({ length: 60 }, (_, second) => timeText(MOMENT + second * 1000, form));
  expect(new Set(texts('mixed').map((text) => text.slice(19))).size).toBeGreaterThan(4);
  const isNone = (text: string): boolean =>
    Number.isNaN(Date.parse(JSON.parse(text) as string)) || text.includes('275760');
  expect(texts('broken').every(isNone)).toBe(true);
});
