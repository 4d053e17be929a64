import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readTextFile, Variables } from './environment.ts';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';

describe('a small file', () => {
  const folder = folderForEach();

  it('gives its text without a byte order mark', () => {
    const path = join(folder.path, 'key');
    writeFileSync(path, '\ufeffk1\r\n');
    expect(readTextFile(path)).toBe('k1\r\n');
    expect(new Variables({ MIRROR_API_KEY_FILE: path }).texts.get('MIRROR_API_KEY')).toBe('k1');
  });

  it('that has no end, is too large, or is not UTF-8 is refused', () => {
    const file = (content: string | Buffer): string => {
      writeFileSync(join(folder.path, 'file'), content);
      return join(folder.path, 'file');
    };
    expect(() => readTextFile('/dev/zero')).toThrow('more than 1 MiB');
    expect(readTextFile(file('x'.repeat(1024 * 1024)))).toHaveLength(1024 * 1024);
    expect(() => readTextFile(file('x'.repeat(1024 * 1024 + 1)))).toThrow('more than 1 MiB');
    expect(() => readTextFile(file(Buffer.from('key', 'utf16le')))).toThrow('save it as UTF-8');
    expect(() => readTextFile(file(Buffer.from('Gew\xfcrz', 'latin1')))).toThrow('save it as UTF-8');
    expect(readTextFile('/dev/null')).toBe('');
  });

  it('with a variable’s value is a regular file: whatever else would keep the program waiting is a problem', () => {
    const pipe = join(folder.path, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const problem = (path: string): string[] => new Variables({ MIRROR_API_KEY_FILE: path }).problems;
    for (const path of [pipe, '/dev/zero', '/dev/null', folder.path]) {
      expect(problem(path)).toEqual(["MIRROR_API_KEY_FILE: can't be read: it is not a regular file"]);
    }
    expect(problem(join(folder.path, 'none'))).toEqual([expect.stringContaining('ENOENT')]);
  });
});

it('a name with our prefix and another mark than _ is a slip, too', () => {
  expect(new Variables({ 'MIRROR-API-KEY': 'k' }).problems).toEqual([
    'MIRROR-API-KEY: there is no such variable (did you mean MIRROR_API_KEY?)',
  ]);
});
