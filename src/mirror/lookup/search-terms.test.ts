import { expect, it } from 'vitest';
import { searchTerms } from './search-mirror.ts';

const none = { integer: null, domain: null, email: null };

it.each([
  [' 0042 ', { texts: ['0042', ' 0042 '], integer: '42' }],
  ['https://www.Acme.example/about', { domain: 'acme.example' }],
  ['ada@acme.example', { email: 'ada@acme.example' }],
  ['it_7', {}],
  ['99999999999999999999', {}],
  ['a\0b', { texts: [] }],
  ['\ud800', { texts: [] }],
])('%j is read as what it may be', (query, terms) => {
  expect(searchTerms(query)).toEqual({ ...none, texts: [query], ...terms });
});
