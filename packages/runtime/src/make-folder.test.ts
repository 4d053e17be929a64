import { existsSync } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolder } from './make-folder.ts';
import { folderForEach } from '../testing/folder-for-each.ts';

const folder = folderForEach();

describe('makeFolder', () => {
  it('creates missing parents, also for several callers at the same time, and accepts an existing folder', async () => {
    const path = join(folder.path, 'a', 'b', 'c');
    await Promise.all([makeFolder(path), makeFolder(path), makeFolder(join(path, 'd'))]);
    await makeFolder(path);
    expect((await stat(join(path, 'd'))).isDirectory()).toBe(true);
  });

  it('fails where a file is in the way', async () => {
    const file = join(folder.path, 'file');
    await writeFile(file, '');
    await expect(makeFolder(file)).rejects.toThrow('EEXIST');
    await expect(makeFolder(join(file, 'a', 'b'))).rejects.toThrow('ENOTDIR');
  });

  it('fails, and does not retry for ever, where the parent exists and accepts no folder', async () => {
    // Only Linux has such a folder; elsewhere the same words come from one whose parent can't be made.
    const path = existsSync('/proc/self') ? '/proc/mirror/data' : '/dev/null/mirror/data';
    await expect(makeFolder(path)).rejects.toThrow(/ENOENT|ENOTDIR/);
  });
});
