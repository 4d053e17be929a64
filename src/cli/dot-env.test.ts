import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';
import { expect, it } from 'vitest';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dotEnvAdditions } from './dot-env.ts';

const folder = folderForEach();
const read = (text: string | Buffer, env: Record<string, string> = {}): Record<string, string> => {
  const path = join(folder.path, '.env');
  writeFileSync(path, text);
  return dotEnvAdditions(env, path);
};

it('.env adds what the environment does not set itself', () => {
  const added = read('# keys\n\nA=1\r\nexport B = "two\nlines"\nC=\n', { A: 'mine' });
  expect(added).toEqual({ B: 'two\nlines', C: '' });
});

it('.env may begin with a byte order mark, or be missing', () => {
  const added = read('\ufeffDATABASE_URL=postgres://a/b\r\nMIRROR_SUBMIT=off\r\n');
  expect(added).toEqual({ DATABASE_URL: 'postgres://a/b', MIRROR_SUBMIT: 'off' });
  expect(dotEnvAdditions({}, join(folder.path, 'none'))).toEqual({});
});

it.each([
  ['A=1\nMIRROR_API_KEY abc\nB="x\ny"\nwhat\n', '.env: line 2, 5 sets nothing'],
  [Buffer.from('\ufeffA=1\n', 'utf16le'), 'Save it as UTF-8'],
  [Buffer.from('A=Gew\xfcrz\n', 'latin1'), 'Save it as UTF-8'],
  // Names that only look like ones.
  ['MIRROR_SCHEMA=a\n\u200bMIRROR_SUBMIT=off\n', 'is not a variable name'],
  ['MIRROR_SCHEMA=a\nMIRROR SUBMIT=off\n', 'is not a variable name'],
])('.env refuses what would set nothing: %j', (text, why) => {
  expect(() => read(text)).toThrow(why);
});
