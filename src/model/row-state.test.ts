import { describe, expect, it } from 'vitest';
import { stateClass } from './row-state.ts';

describe('the class of a state', () => {
  it('knows final words in any spelling', () => {
    for (const word of [
      'completed',
      'DONE',
      ' Partial-Failure',
      'partialFailure',
      'partial failure',
      'Analyzed',
    ]) {
      expect([word, stateClass(word)]).toEqual([word, 'finished']);
    }
    for (const word of ['failed', 'ERROR', 'timedOut'])
      expect([word, stateClass(word)]).toEqual([word, 'failed']);
  });

  it('takes everything else for open', () => {
    for (const value of ['queued', 'processing', 'completing', '', null, 3, true, { state: 'done' }]) {
      expect(stateClass(value)).toBe('open');
    }
  });

  it('takes an item without any state for finished', () => {
    expect(stateClass(undefined)).toBe('finished');
  });
});
