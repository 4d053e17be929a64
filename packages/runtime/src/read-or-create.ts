import { link, readFile, rm, writeFile } from 'node:fs/promises';

/**
 * Reads the text of a file that is written once; creates it if it is missing. Programs that start at the same time get
 * the same text: the file is flushed to disk, and then linked to its name, which is atomic.
 */
export async function readOrCreate(file: string, make: () => string | Promise<string>, mode = 0o666) {
  const kept = await textOf(file);
  if (kept !== undefined) return kept.trim();
  const unfinished = `${file}.${process.pid}`;
  await writeFile(unfinished, `${await make()}\n`, { mode, flush: true });
  try {
    await link(unfinished, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(unfinished, { force: true });
  }
  return (await readFile(file, 'utf8')).trim();
}

/** A file's text; undefined if there is no such file. */
export async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
