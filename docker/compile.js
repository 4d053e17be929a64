// Run once while the image is made: has V8 compile every file of the program, and keeps what comes of it where the
// launcher looks for it. A container then starts without compiling, although it can write nothing.
import { readdirSync } from 'node:fs';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { OLD_HEAP } from '../bin/heap.js';

const DIST = join(import.meta.dirname, '..', 'dist');
const PROGRAM = join(DIST, 'program');
/** It runs the command line as soon as it is loaded. */
const MAIN = 'main.js';

// As the launcher does: what was compiled under other flags is not taken.
setFlagsFromString(OLD_HEAP);
enableCompileCache(join(DIST, 'compile-cache'));
for (const file of readdirSync(PROGRAM)) {
  if (file.endsWith('.js') && file !== MAIN && file !== 'page.js') await import(join(PROGRAM, file));
}
flushCompileCache();
process.argv.push('--version');
await import(join(PROGRAM, MAIN));
