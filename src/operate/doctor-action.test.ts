import { expect, it } from 'vitest';
import { broken, ok, unknown } from './check.ts';
import { describeChecks } from './doctor.ts';

it('doctor prints a line for each finding, with what to type, and their counts', () => {
  const text = describeChecks([
    { check: 'network', ...ok('api answers') },
    { check: 'rights', ...broken('it may not', { remedy: 'as a DBA', sql: 'grant all;' }) },
    { check: 'data_folder', ...broken('in use', { command: 'export MIRROR_DATA_DIR=a' }) },
    { check: 'disk', ...unknown('a\nb') },
  ]);
  expect(text).toBe(
    `ok       network      api answers
broken   rights       it may not → as a DBA: psql> grant all;
broken   data_folder  in use → $ export MIRROR_DATA_DIR=a
unknown  disk         a\\nb
2 broken, 1 not found out
`,
  );
  expect(describeChecks([{ check: 'network', ...ok('api answers') }])).toBe(
    'ok       network  api answers\nall fine\n',
  );
});
