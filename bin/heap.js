// What V8 may leave uncollected. Plain JavaScript: the launcher reads it on any Node from 18 on.

/** The young generation, in MB: by itself it grows to three times 16 before anything is collected. */
export const YOUNG_HEAP = '--max-semi-space-size=4';
/**
 * The old one may grow by this part over what is in use. Both together take 80 MB off the peak of a first load; 30 takes
 * another 20 off, and costs two fifths more processor time (bench/README.md).
 */
export const OLD_HEAP = '--heap-growing-percent=80';
