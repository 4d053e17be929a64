// What tells whether dist/program is of the sources that lie beside it. Plain JavaScript: the launcher reads it on any
// Node from 18 on. The whole text is hashed, not times: git and copies of a checkout change these as they like. 650
// files take 15 ms.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** All that a bundle is made of and by, from the root of the checkout; of folders whatever lies in them. */
const SOURCES = ['build', 'bin', 'package-lock.json', 'package.json', 'packages', 'src'];
/** What no bundle contains. */
const LEFT_OUT = /^(node_modules|testing|.*\.test\.ts)$/;

/** Hexadecimal SHA-256 of all sources of the checkout. @throws Error where one can't be read */
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
