import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readUserId } from './given.ts';
import { UsageError } from './shell.ts';

it('a user_id is accepted in the range of a bigint, and refused outside', () => {
  const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n];
  fc.assert(fc.property(fc.bigInt(least, most), (id) => readUserId(String(id)) === String(id)));
  for (const id of [least, most]) expect(readUserId(String(id))).toBe(String(id));
  for (const id of [least - 1n, most + 1n, 10n ** 19n, '', '-', '1.5', 'me', '1e3'])
    expect(() => readUserId(String(id))).toThrow(UsageError);
});
