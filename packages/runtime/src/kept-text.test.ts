import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { keptText } from './kept-text.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kept-text-'));
  file = join(folder, 'kept');
});
afterEach(() => rm(folder, { recursive: true }));

it('is made once, and read ever after', async () => {
  expect(await keptText(file, () => 'first', 0o600)).toBe('first');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await keptText(file, () => 'second')).toBe('first');
  expect(await readdir(folder)).toEqual(['kept']);
});

it('is the other program’s where that was quicker', async () => {
  const slow = async (): Promise<string> => {
    await writeFile(file, 'quick\n');
    return 'slow';
  };
  expect(await keptText(file, slow)).toBe('quick');
  expect(await readFile(file, 'utf8')).toBe('quick\n');
  expect(await readdir(folder)).toEqual(['kept']);
});

it('fails where it can’t be read, and makes nothing in its place', async () => {
  await expect(keptText(folder, () => 'text')).rejects.toThrow('EISDIR');
});
