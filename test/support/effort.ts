import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Of the project that runs the test (vitest.config.ts). */
    effort: 'short' | 'long';
  }
}

/**
 * How many runs a property gets, or how many rows of a table are played: few in `npm test`, so that it stays short, all
 * of them in the project `deep`, which runs the same file again.
 */
export function runs(short: number, long: number): number {
  return inject('effort') === 'long' ? long : short;
}
