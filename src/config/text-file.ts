import { closeSync, openSync, readSync } from 'node:fs';

/** More than any setting has: `/dev/zero` has no end. */
const MOST_BYTES = 1024 * 1024;

/**
 * The text of a small file that a person wrote, without a byte order mark.
 * @throws Error that says what is wrong with the text, and an ErrnoException where it can't be read
 */
export function readTextFile(path: string): string {
  const bytes = readBounded(path);
  // As UTF-16 has them, which is UTF-8 otherwise where all its letters are plain.
  if (bytes.includes(0)) throw new Error('it is not UTF-8 (it has NUL bytes): save it as UTF-8');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error('it is not UTF-8: save it as UTF-8');
  }
}

function readBounded(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(MOST_BYTES + 1);
    for (let length = 0; ;) {
      const bytes = readSync(file, buffer, length, buffer.length - length, null);
      length += bytes;
      if (length > MOST_BYTES) throw new Error('it has more than 1 MiB');
      if (bytes === 0) return buffer.subarray(0, length);
    }
  } finally {
    closeSync(file);
  }
}
