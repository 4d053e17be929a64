import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { systemClock } from '@research-mirror/runtime/clock';
import { Stopped } from '@research-mirror/runtime/service';
import { ensureDataDirectory } from './data-directory.ts';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';

const folder = folderForEach();

it('stops initdb when it is interrupted, and leaves nothing behind', async () => {
  const begun = join(folder.path, 'begun');
  const data = join(folder.path, 'data');
  await mkdir(data);
  // As on a slow disk: it takes longer than any stop may.
  await writeFile(join(folder.path, 'initdb'), `#!/bin/sh\n: > ${begun}\nexec sleep 600\n`);
  await chmod(join(folder.path, 'initdb'), 0o755);

  const interrupt = new AbortController();
  const location = { bin: folder.path, major: 18, pgData: join(data, 'pg18'), user: undefined };
  const made = ensureDataDirectory(location, 'password', false, systemClock, interrupt.signal);
  made.catch(() => {});
  await eventually('initdb to run', () => Promise.resolve(existsSync(begun)));
  interrupt.abort(new Stopped('the program'));
  await expect(made).rejects.toBeInstanceOf(Stopped);
  expect(await readdir(data)).toEqual([]);
});
