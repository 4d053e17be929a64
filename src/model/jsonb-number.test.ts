import { expect, it } from 'vitest';
import { jsonbNumber } from './values.ts';

// What Postgres itself says of numbers: test/integration/mirror/page/rehash.test.ts.
it.each([
  ['12', '12'],
  ['-0', '0'],
  ['-0.00', '0.00'],
  ['1.50', '1.50'],
  ['1e2', '100'],
  ['1.5E+1', '15'],
  ['1.50e1', '15.0'],
  ['125e-2', '1.25'],
  ['-1e-3', '-0.001'],
  ['0e5', '0'],
  ['0e-2', '0.00'],
  ['1.5e-1', '0.15'],
  ['1e400000', '1e400000'],
])('a number as jsonb prints it %s is %s', (source, printed) => {
  expect(jsonbNumber(source)).toBe(printed);
});
