import { userInfo } from 'node:os';
import { expect, it } from 'vitest';
import { Unusable } from '@research-mirror/runtime/errors';
import { systemUser } from './system-user.ts';

it('the user of this process is the database’s, where it has a name; else the remedy is said', () => {
  expect(systemUser()).toBe(userInfo().username);
  const nameless = (): string => {
    throw new Error('ENOENT: no such file or directory, uv_os_get_passwd');
  };
  expect(() => systemUser(nameless)).toThrow(Unusable);
  expect(() => systemUser(nameless)).toThrow(/put the user into DATABASE_URL, or set PGUSER$/);
});
