import { relative } from 'node:path';

/** A path for people: as seen from the working directory where it lies within, else whole. */
export function shortPath(path: string): string {
  const seen = relative('', path);
  return seen === '' ? '.' : seen.startsWith('..') ? path : seen;
}
