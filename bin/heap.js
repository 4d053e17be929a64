// What V8 may leave uncollected. Plain JavaScript: the launcher reads it on any Node from 18 on.

/** The young generation, in MB: by itself it grows to three times 16 before anything is collected. */
export const YOUNG_HEAP = '--max-semi-space-size=4';
/**
 * The old one may grow by this part over what is in use. Both together take 80 MB off the peak of a first load
 * (bench/README.md). Once it has loaded, the program sets what suits its work (src/account/process.ts).
 */
export const OLD_HEAP = '--heap-growing-percent=80';
/**
 * One region of memory for the threads of Node's pool, not one for each: what one of them frees is used by the others.
 * For glibc, which reads it before the program begins; others pass it over.
 */
export const ARENAS = { MALLOC_ARENA_MAX: '1' };
