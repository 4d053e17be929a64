import { chmod, cp, lstat, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findBinaries, whyNotRunnable } from './binaries.ts';
import { findLocation } from './location.ts';

const isRoot = process.getuid?.() === 0;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'location-'));
  await chmod(folder, 0o755);
});
afterEach(async () => {
  await chmod(join(folder, 'package', 'native', 'lib'), 0o755);
  await rm(folder, { recursive: true, force: true });
});

describe('findLocation', () => {
  it('copies binaries that can’t run where npm put them, and creates the links that npm can’t pack', async () => {
    const { root } = await findBinaries();
    const there = join(folder, 'package', 'native');
    const notALink = async (path: string): Promise<boolean> => !(await lstat(path)).isSymbolicLink();
    await cp(root, there, { recursive: true, filter: notALink });
    // Another user can't enter it, or, for an ordinary user, nobody can write the missing links.
    if (isRoot) await chmod(join(folder, 'package'), 0o700);
    else await chmod(join(there, 'lib'), 0o555);
    const dataDir = join(folder, 'data');
    await mkdir(dataDir);
    const location = await findLocation(dataDir, isRoot, join(folder, 'system'), {
      root: there,
      version: '18.0.0-test',
    });
    const copy = join(folder, isRoot ? 'system' : 'data', 'postgres-18.0.0-test', 'native');
    expect(location).toMatchObject({ programs: copy, pgData: join(dataDir, 'pg18') });
    expect(await whyNotRunnable(copy, location.user)).toBeUndefined();
    expect(location.user === undefined).toBe(!isRoot);
  });
});
