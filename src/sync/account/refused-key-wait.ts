/**
 * How long (ms) a refused key is left alone before each ping (docs/design/ownership.md, "Refused keys"); the last one
 * repeats.
 */
const WAITS_MS = [30_000, 60_000, 300_000] as const;
const LONGEST_MS = 900_000;

/** @param refusals how often it was refused before this time @returns milliseconds */
export function refusedKeyWait(refusals: number): number {
  return WAITS_MS[refusals] ?? LONGEST_MS;
}
