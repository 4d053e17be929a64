// Tells whether dist/program was made of the sources beside it. Plain JavaScript for Node from 18 on. The text is hashed,
// since git and copies change times. 650 files take 15 ms.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Files and folders that a bundle is made of and by. */
const SOURCES = ['build', 'bin', 'package-lock.json', 'package.json', 'packages', 'src'];
/** What no bundle contains. */
const LEFT_OUT = /^(node_modules|testing|.*\.test\.ts)$/;

/** Hexadecimal SHA-256 of all sources of the checkout. @throws Error if one can't be read */
export function sourceHash(root) {
  const hash = createHash('sha256');
  const add = (path) =>
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update('\0');
  const addFolder = (folder) => {
    const entries = readdirSync(join(root, folder), { withFileTypes: true });
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      if (LEFT_OUT.test(entry.name)) continue;
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) addFolder(path);
      else add(path);
    }
  };
  for (const path of SOURCES) {
    if (path.includes('.')) add(path);
    else addFolder(path);
  }
  return hash.digest('hex');
}
