import { expect, it } from 'vitest';
import { interrupts } from './shell.ts';

it('takes a signal that arrives twice at once for one, and a later one for impatience', () => {
  const judge = interrupts();
  expect([1_000, 1_002, 1_500, 1_501].map(judge)).toEqual(['first', 'same', 'same', 'again']);
});
