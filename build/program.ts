import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { sourceHash } from '../bin/source-hash.js';
import { bundle } from './bundle.ts';
import { licenceFile, thirdParties } from './third-party.ts';

// `npm run build`: makes dist/program, which the launcher runs in place of the sources as long as it is of just these.
// The package and the image have nothing else. Ends with 1 where it can't be made.

const ROOT = join(import.meta.dirname, '..');
const FOLDER = join(ROOT, 'dist', 'program');

const begun = performance.now();
// First, so that a launcher meanwhile runs the sources.
rmSync(FOLDER, { recursive: true, force: true });
// Of the last one.
rmSync(join(ROOT, 'dist', 'compile-cache'), { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });
const hash = sourceHash(ROOT);
const chunks = await bundle({ main: 'src/main.ts' }, FOLDER);
const packages = thirdParties(chunks.flatMap(({ modules }) => modules));
writeFileSync(join(FOLDER, 'THIRD_PARTY_LICENSES'), licenceFile(packages));
// Last: without it, or with another one, the launcher runs the sources. What was changed meanwhile may be in it or not.
if (hash === sourceHash(ROOT)) writeFileSync(join(FOLDER, 'sources.sha256'), `${hash}\n`);
const took = ((performance.now() - begun) / 1000).toFixed(1);
process.stderr.write(
  `${relative(ROOT, FOLDER)}: ${chunks.length} files, of ${packages.length} packages besides our own, in ${took} s\n`,
);
