import { expect, it } from 'vitest';
import { registrationOutcomeOf } from './registration-outcome.ts';

const said = (text: string): string => {
  if (text.includes('secret')) throw new Error('the body of an accepted registration is quoted');
  return text;
};

it.each([
  [200, '{"url":"https://a.example","secret":"secret"}', 'accepted'],
  [201, '{"secret":"secret"}', 'accepted'],
  [200, '{"url":"https://a.example"}', 'accepted'],
  [200, '<html>secret</html>', 'lost'],
  [204, '', 'lost'],
  [400, 'no', 'refused'],
  [401, 'no', 'refused'],
  [402, 'no', 'refused'],
  [404, 'no', 'refused'],
  [405, 'no', 'refused'],
  [422, 'no', 'refused'],
  [302, '', 'refused'],
  [429, 'no', 'undone'],
  [408, 'no', 'lost'],
  [425, 'no', 'lost'],
  [500, 'no', 'lost'],
  [503, '', 'lost'],
])('the answer to a registration %i %j means: %s', (status, text, kind) => {
  expect(registrationOutcomeOf({ status, text }, said).kind).toBe(kind);
});

it('the answer to a registration is explained in the service’s words', () => {
  expect(registrationOutcomeOf({ status: 402, text: 'no credits' }, said)).toMatchObject({
    why: 'it was answered 402: no credits',
  });
  expect(registrationOutcomeOf({ status: 503, text: '' }, said)).toMatchObject({
    why: 'it was answered 503',
  });
});
