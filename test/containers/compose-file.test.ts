import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { composeEnvironment } from '../../build/settings-table.ts';
import { SETTINGS, type Setting } from '../../src/config/settings.ts';
import { ROOT } from '../support/rules/source-files.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const composeFile = read('docker-compose.yml');

/** `NAME: value` of the daemon's container; null where the value is the environment's or .env's. */
function environmentOf(service: string): Record<string, string | null> {
  const lines = [...service.matchAll(/^ {6}([A-Z_]+):(?: (.+))?$/gm)];
  return Object.fromEntries(lines.map(([, name = '', value = null]) => [name, value]));
}

describe('the compose file', () => {
  it('sets and hands on what the settings say', () => {
    const service = /^ {2}mirror:\n[\s\S]*?\n\n/m.exec(composeFile)?.[0] ?? '';
    expect(environmentOf(service)).toEqual(composeEnvironment());
  });

  it('has the key from a file where docker-compose.secrets.yml is beside it, and not from the environment', () => {
    const service = /^ {2}mirror:\n[\s\S]*?\n\n/m.exec(read('docker-compose.secrets.yml'))?.[0] ?? '';
    expect(environmentOf(service)).toEqual({
      MIRROR_API_KEY: "''",
      MIRROR_API_KEY_FILE: '/run/secrets/api-key',
    });
  });

  it('leaves to the image what the image sets', () => {
    const set = [...read('Dockerfile').matchAll(/^.* ((?:MIRROR|LOG|DATABASE)_[A-Z_]+)=/gm)].map(
      ([, name]) => name,
    );
    const left = Object.entries<Setting>(SETTINGS).filter(([, { compose }]) => compose === 'image');
    expect(new Set(set)).toEqual(new Set(left.map(([name]) => name)));
  });

  it('stands in for a missing account with what docker/compose-start.js takes for one', () => {
    const script = read('docker/compose-start.js');
    for (const name of ['MIRROR_API_URL', 'MIRROR_API_KEY']) {
      const standIn = new RegExp(`${name}: \\$\\{${name}:-(.+)\\}`).exec(composeFile)?.[1];
      expect(script).toContain(`${name}: '${standIn}'`);
    }
  });
});
