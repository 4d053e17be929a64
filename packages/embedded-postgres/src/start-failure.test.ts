import { expect, it } from 'vitest';
import { explainFailure } from './connect-or-start.ts';

it.each([
  ['FATAL:  could not write lock file "postmaster.pid": No space left on device', /disk is full/],
  ['LOG:  could not bind IPv4 address "127.0.0.1": Address already in use', /port 5999 .* MIRROR_PG_PORT/],
  ['FATAL:  data directory "/x" has wrong ownership', /must belong to the user/],
  [
    'FATAL:  configuration file "/x/postgresql.conf" contains errors',
    /postgresql\.conf has an error \(details: \/log\)/,
  ],
  [
    'LOG:  one\n2026 UTC [1] FATAL:  could not locate a valid checkpoint record',
    /^could not locate a valid checkpoint record \(details: \/log\)$/,
  ],
  ['', /ended and logged no reason/],
])('explains %j in one sentence', (log, sentence) => {
  expect(explainFailure(log, 5999, '/log')).toMatch(sentence);
});
