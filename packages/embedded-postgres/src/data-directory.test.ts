import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { systemClock } from '@research-mirror/runtime/clock';
import { Stopped } from '@research-mirror/runtime/service';
import { ensureDataDirectory } from './data-directory.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-directory-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('stops initdb when it is interrupted, and leaves nothing behind', async () => {
  const begun = join(folder, 'begun');
  const data = join(folder, 'data');
  await mkdir(data);
  // As on a slow disk: it takes longer than any stop may.
  await writeFile(join(folder, 'initdb'), `#!/bin/sh\n: > ${begun}\nexec sleep 600\n`);
  await chmod(join(folder, 'initdb'), 0o755);

  const interrupt = new AbortController();
  const location = { bin: folder, major: 18, pgData: join(data, 'pg18'), user: undefined };
  const made = ensureDataDirectory(location, 'password', false, systemClock, interrupt.signal);
  made.catch(() => {});
  await eventually('initdb to run', () => Promise.resolve(existsSync(begun)));
  interrupt.abort(new Stopped('the program'));
  await expect(made).rejects.toBeInstanceOf(Stopped);
  expect(await readdir(data)).toEqual([]);
});
