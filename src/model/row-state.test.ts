import { expect, it } from 'vitest';
import { stateClass } from './page.ts';

it.each([
  ['finished', ['completed', 'DONE', ' Partial-Failure', 'partialFailure', 'partial failure', 'Analyzed']],
  ['failed', ['failed', 'ERROR', 'timedOut']],
  ['open', ['queued', 'processing', 'completing', '', null, 3, true, { state: 'done' }]],
  // An item without any state.
  ['finished', [undefined]],
])('the class of a state is %s, whatever its spelling: %j', (expected, states) => {
  expect(states.map(stateClass)).toEqual(states.map(() => expected));
});
