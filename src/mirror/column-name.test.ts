import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { columnName } from './column-plan.ts';

const none: ReadonlySet<string> = new Set();

it.each([
  ['company_url', 'company_url'],
  ['companyURL', 'company_url'],
  ['HTMLBody', 'html_body'],
  ['score-2 (new)', 'score_2_new'],
  ['Größe', 'größe'],
  ['line2Text', 'line2_text'],
])('columnName names %j %s', (field, name) => {
  expect(columnName(field, none)).toBe(name);
});

it('columnName gives what can’t be a name a suffix of its own that does not change', () => {
  for (const field of [
    '',
    '$',
    '_raw',
    '__proto__',
    'order',
    'User',
    'ctid',
    'xmin',
    '2fa',
    'é'.repeat(60),
  ]) {
    expect(columnName(field, none)).toMatch(/^\p{L}[\p{L}\p{N}_]*_[0-9a-f]{6}$/u);
    expect(columnName(field, new Set(['other']))).toBe(columnName(field, none));
  }
});

it('columnName never gives a name twice, one of the mirror’s own, or one that PostgreSQL would cut', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ unit: 'grapheme' }), { maxLength: 30 }), (fields) => {
      const taken = new Set(['_raw', 'job_id']);
      for (const field of fields) {
        const name = columnName(field, taken);
        expect(taken.has(name)).toBe(false);
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(63);
        expect(name.startsWith('_')).toBe(false);
        taken.add(name);
      }
    }),
  );
});
