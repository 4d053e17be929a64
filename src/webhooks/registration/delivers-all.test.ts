import { expect, it } from 'vitest';
import { EVENT_TYPES } from '../../model/webhook/event-types.ts';
import { deliversAll } from './judge-seen.ts';

it.each([
  ['no types are shown', null, null],
  ['one of them means all', ['list.failed', '*'], null],
  ['one of them means all, in a word', ['all'], null],
  ['none that is known is lacking', [...EVENT_TYPES, 'something.new'], null],
  ['the registration was answered with the same ones', ['a', 'b'], ['b', 'a']],
  ['the registration was answered with none, too', [], []],
])('a webhook delivers all that was registered where %s', (_, seen, answered) => {
  expect(deliversAll(seen, answered)).toBe(true);
});

it.each([
  ['there are none', [], null],
  ['one is lacking', EVENT_TYPES.slice(1), null],
  ['the registration was answered with more', ['a'], ['a', 'b']],
  ['the registration was answered with fewer, and this is not all either', ['a', 'b'], ['a']],
])('a webhook delivers all that was registered not where %s', (_, seen, answered) => {
  expect(deliversAll(seen, answered)).toBe(false);
});
