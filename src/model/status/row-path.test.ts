import { expect, it } from 'vitest';
import { changedRowPath } from './row-path.ts';

it.each([
  ['research_jobs', '7', 'rows/42/research_jobs/7'],
  ['account', '42', 'rows/42/account'],
  ['list_items', '7:a:b/c', 'rows/42/list_items/7/a%3Ab%2Fc'],
  ['watchlist', 'é?#%', 'rows/42/watchlist/%C3%A9%3F%23%25'],
  ['watchlist', '..', 'rows/42/watchlist/~..'],
  ['watchlist', '~x', 'rows/42/watchlist/~~x'],
] as const)('a row of %s with the key %s has a path that no browser shortens', (name, key, path) => {
  expect(changedRowPath('42', name, key)).toBe(path);
  expect(new URL(path, 'http://localhost:8080/').pathname).toBe(`/${path}`);
});
