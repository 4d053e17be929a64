import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { readOrCreate } from './read-or-create.ts';
import { folderForEach } from '../testing/folder-for-each.ts';

const folder = folderForEach();
let file: string;
beforeEach(async () => {
  file = join(folder.path, 'kept');
});

it('is created once, and read from then on', async () => {
  expect(await readOrCreate(file, () => 'first', 0o600)).toBe('first');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readOrCreate(file, () => 'second')).toBe('first');
  expect(await readdir(folder.path)).toEqual(['kept']);
});

it('is the other program’s where that was faster', async () => {
  const slow = async (): Promise<string> => {
    await writeFile(file, 'quick\n');
    return 'slow';
  };
  expect(await readOrCreate(file, slow)).toBe('quick');
  expect(await readFile(file, 'utf8')).toBe('quick\n');
  expect(await readdir(folder.path)).toEqual(['kept']);
});

it('fails where it can’t be read, and does not replace it', async () => {
  await expect(readOrCreate(folder.path, () => 'text')).rejects.toThrow('EISDIR');
});
