import { expect, it } from 'vitest';
import { checked } from '../../app/doctor/check.ts';
import { describeChecks } from './doctor-text.ts';

it('prints a line for each check, with what to type, and counts', () => {
  const text = describeChecks([
    checked('network', 'ok', 'api answers'),
    checked('rights', 'broken', 'it may not', { remedy: 'as a DBA', sql: 'grant all;' }),
    checked('status_port', 'broken', 'in use', { command: 'export MIRROR_HTTP_PORT=1' }),
    checked('disk', 'unknown', 'a\nb'),
  ]);
  expect(text).toBe(
    `ok       network      api answers
broken   rights       it may not → as a DBA: psql> grant all;
broken   status_port  in use → $ export MIRROR_HTTP_PORT=1
unknown  disk         a\\nb
2 broken, 1 not found out
`,
  );
  expect(describeChecks([checked('network', 'ok', 'api answers')])).toBe(
    'ok       network  api answers\nall fine\n',
  );
});
