/** A terminal and a launcher may both deliver one Ctrl-C: within this time it is the same one. Milliseconds. */
const SAME = 500;

/**
 * Tells the first request to stop, which is granted in peace, from a repeated one by somebody who will not wait.
 * @returns a function to be called at each signal, with the monotonic time in milliseconds
 */
export function interrupts(): (now: number) => 'first' | 'same' | 'again' {
  let firstAt: number | undefined;
  return (now) => {
    if (firstAt !== undefined) return now - firstAt > SAME ? 'again' : 'same';
    firstAt = now;
    return 'first';
  };
}
