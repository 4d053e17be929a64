import { expect, it } from 'vitest';
import { notesOnWorkload } from './workload-notes.ts';

it('says what keeps deletions waiting, and what keeps vacuum, each with its remedy', () => {
  expect(
    notesOnWorkload({
      keyless: new Map([['42/lists', 2]]),
      oldReaders: [
        { pid: 7, user: 'anna', program: 'psql', ageMs: 720_000 },
        { pid: 8, user: 'bi', program: '', ageMs: 7_200_000 },
      ],
    }),
  ).toEqual([
    '42/lists: 2 items without a usable ID; pages with such items prove no deletion, so that rows which are gone may ' +
      'stay: "research-mirror quarantine list lists"',
    'a transaction of anna (psql) is open for 12 min: vacuum removes nothing that it may still see. To end it: ' +
      'select pg_terminate_backend(7)',
    'a transaction of bi is open for 2 h: vacuum removes nothing that it may still see. To end it: ' +
      'select pg_terminate_backend(8)',
  ]);
});
