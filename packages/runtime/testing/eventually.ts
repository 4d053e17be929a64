import { messageOf } from '../src/message.ts';

/**
 * Calls `condition` until it gives something other than undefined and false; an error counts as "not yet".
 * @param what ends the sentence "waited 30 s in vain for …"
 * @param withinMs time-out: the test fails then
 * @param everyMs pause between two calls: longer where a call starts a program, which takes a core for a second
 */
export async function eventually<T>(
  what: string,
  condition: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = 120_000,
  everyMs = 50,
): Promise<T> {
  const until = performance.now() + withinMs;
  let last = '';
  for (;;) {
    try {
      const value = await condition();
      if (value !== undefined && value !== false) return value;
      last = '';
    } catch (error) {
      last = `: ${messageOf(error)}`;
    }
    if (performance.now() >= until) {
      throw new Error(`waited ${withinMs / 1000} s in vain for ${what}${last}`);
    }
    await new Promise((resolve) => {
      setTimeout(resolve, everyMs);
    });
  }
}
