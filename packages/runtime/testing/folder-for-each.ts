import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';

/** An empty folder for each test of a file or suite, there while the test runs. */
export function folderForEach(): { readonly path: string } {
  const folder = { path: '' };
  beforeEach(() => {
    folder.path = mkdtempSync(join(tmpdir(), 'research-mirror-folder-'));
  });
  afterEach(() => rmSync(folder.path, { recursive: true, force: true }));
  return folder;
}
