import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from '../../../build/bundle.ts';
import { sourceHash } from '../../../bin/source-hash.js';
import { ROOT } from '../rules/source-files.ts';

/** What tests start as processes of their own. */
const ENTRIES = { main: 'src/main.ts', 'sandbox-process': 'test/support/processes/sandbox-process.ts' };
const BUILDS = join(ROOT, 'dist');
const OURS = /^tested-/;
/** Without it every process compiles the program again. */
export const NODE_COMPILE_CACHE = join(ROOT, 'node_modules', '.cache', 'programs-under-test');
const KEEP_MS = 3_600_000;

/**
 * Path of the program built from the present sources. A run starts hundreds of them, and from sources each would take
 * three times as long. A build's name is a hash of its sources, so that none is stale.
 */
export async function builtProgram(name: keyof typeof ENTRIES): Promise<string> {
  folder ??= build();
  return join(await folder, `${name}.js`);
}

let folder: Promise<string> | undefined;

async function build(): Promise<string> {
  const made = join(BUILDS, `tested-${hashOfSources()}`);
  if (existsSync(made)) return made;
  const own = `${made}.${process.pid}`;
  mkdirSync(own, { recursive: true });
  await bundle(ENTRIES, own);
  for (const old of readdirSync(BUILDS)) {
    const path = join(BUILDS, old);
    // Another run, with other sources, may be building.
    if (OURS.test(old) && Date.now() - statSync(path).mtimeMs > KEEP_MS) {
      rmSync(path, { recursive: true, force: true });
    }
  }
  try {
    renameSync(own, made);
  } catch (error) {
    if (!existsSync(made)) throw error;
    // Another worker was faster, and built the same.
    rmSync(own, { recursive: true, force: true });
  }
  return made;
}

/** Of everything that a bundle is made of, the entry for the emulated service included. */
function hashOfSources(): string {
  const entry = readFileSync(join(ROOT, ENTRIES['sandbox-process']));
  return createHash('sha256').update(sourceHash(ROOT)).update(entry).digest('hex').slice(0, 16);
}
