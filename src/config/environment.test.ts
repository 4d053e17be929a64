import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readTextFile, Variables } from './environment.ts';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';

const folder = folderForEach();
const file = (content: string | Buffer): string => {
  const path = join(folder.path, 'file');
  writeFileSync(path, content);
  return path;
};
const MIB = 'x'.repeat(1024 * 1024);

it('a small file gives its text without a byte order mark', () => {
  expect(readTextFile(file('\ufeffk1\r\n'))).toBe('k1\r\n');
  const { texts } = new Variables({ MIRROR_API_KEY_FILE: file('\ufeffk1\r\n') });
  expect(texts.get('MIRROR_API_KEY')).toBe('k1');
  expect([readTextFile(file(MIB)), readTextFile('/dev/null')]).toEqual([MIB, '']);
});

it('a file that has no end, is too large, or is not UTF-8 is refused', () => {
  for (const path of ['/dev/zero', file(`${MIB}x`)])
    expect(() => readTextFile(path)).toThrow('more than 1 MiB');
  for (const text of [Buffer.from('key', 'utf16le'), Buffer.from('Gew\xfcrz', 'latin1')])
    expect(() => readTextFile(file(text))).toThrow('save it as UTF-8');
});

it('a file with a variable’s value must be a regular file: others could keep the program waiting', () => {
  const pipe = join(folder.path, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const problem = (path: string): string[] => new Variables({ MIRROR_API_KEY_FILE: path }).problems;
  for (const path of [pipe, '/dev/zero', '/dev/null', folder.path]) {
    expect(problem(path)).toEqual(["MIRROR_API_KEY_FILE: can't be read: it is not a regular file"]);
  }
  expect(problem(join(folder.path, 'none'))).toEqual([expect.stringContaining('ENOENT')]);
});

it('a name with our prefix and another separator than _ is a problem', () => {
  expect(new Variables({ 'MIRROR-API-KEY': 'k' }).problems).toEqual([
    'MIRROR-API-KEY: there is no such variable (did you mean MIRROR_API_KEY?)',
  ]);
});
