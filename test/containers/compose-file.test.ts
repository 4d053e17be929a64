import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { VARIABLES } from '../../src/config/settings.ts';
import { ROOT } from '../support/rules/source-files.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const composeFile = read('docker-compose.yml');

/** Set by the image, or without meaning beside a Postgres in a container of its own. */
const FIXED: ReadonlySet<string> = new Set([
  'DATABASE_URL_DIRECT',
  'MIRROR_DATA_DIR',
  'MIRROR_HTTP_HOST',
  'MIRROR_PG_PORT',
  'MIRROR_WEBHOOK_HOST',
]);

describe('the compose file', () => {
  it('hands every variable of the program on', () => {
    const passed = new Set([...composeFile.matchAll(/^ {6}([A-Z_]+):/gm)].map((match) => match[1]));
    expect(VARIABLES.filter((name) => !FIXED.has(name) && !passed.has(name))).toEqual([]);
  });

  it('stands in for a missing account with what docker/compose-start.js takes for one', () => {
    const script = read('docker/compose-start.js');
    for (const name of ['MIRROR_API_URL', 'MIRROR_API_KEY']) {
      const standIn = new RegExp(`${name}: \\$\\{${name}:-(.+)\\}`).exec(composeFile)?.[1];
      expect(script).toContain(`${name}: '${standIn}'`);
    }
  });
});
