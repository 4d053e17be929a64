import { link, readFile, rm, writeFile } from 'node:fs/promises';

/**
 * The text of a file that is written once, made where there is none. Two programs that begin together get the same
 * one: linking the finished file is atomic, and it is on disk before.
 */
export async function keptText(
  file: string,
  make: () => string | Promise<string>,
  mode = 0o666,
): Promise<string> {
  const kept = await textOf(file);
  if (kept !== undefined) return kept;
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

async function textOf(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
