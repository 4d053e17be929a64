// What V8 may leave uncollected. Plain JavaScript: the launcher reads it on any Node from 18 on.

/** The young generation, in MB; without a bound it grows to 48. */
export const YOUNG_HEAP = '--max-semi-space-size=4';
/**
 * How far the old one may grow over what is in use. Both take 80 MB off the peak of a first load
 * (bench/memory/README.md), after which the program sets its own (src/account/process.ts).
 */
export const OLD_HEAP = '--heap-growing-percent=80';
/** One region of memory for all threads of Node's pool. glibc reads it before the program begins. */
export const ARENAS = { MALLOC_ARENA_MAX: '1' };
