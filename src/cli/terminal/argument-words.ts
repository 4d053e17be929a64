import type { Argument, Option } from 'commander';

const WORDS = new WeakMap<Argument | Option, readonly string[]>();

/**
 * Lets a shell complete an argument, or the value of an option, by these words. Unlike commander's `choices`, it leaves
 * the judgement of what was typed, and its message, to the command.
 */
export function withArgumentWords<Of extends Argument | Option>(of: Of, words: readonly string[]): Of {
  WORDS.set(of, words);
  return of;
}

/** The words by which it may be completed; none where anything may be typed. */
export function argumentWords(of: Argument | Option): readonly string[] {
  return WORDS.get(of) ?? of.argChoices ?? [];
}
