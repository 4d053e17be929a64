import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { VARIABLES } from '../../src/config/settings.ts';
import { ROOT } from '../support/rules/source-files.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const composeFile = read('docker-compose.yml');

/** `NAME: value` of the daemon's container; null where the value is the environment's or .env's. */
function environmentOf(service: string): Record<string, string | null> {
  const lines = [...service.matchAll(/^ {6}([A-Z_]+):(?: (.+))?$/gm)];
  return Object.fromEntries(lines.map(([, name = '', value = null]) => [name, value]));
}

const daemon = environmentOf(/^ {2}mirror:\n[\s\S]*?\n\n/m.exec(composeFile)?.[0] ?? '');

/** What the Dockerfile sets. */
const OF_THE_IMAGE = ['MIRROR_DATA_DIR', 'MIRROR_HTTP_HOST', 'MIRROR_WEBHOOK_HOST'];
/** Of the embedded Postgres, and of other databases than the one beside the daemon. */
const OF_NO_USE = ['DATABASE_URL_DIRECT', 'MIRROR_COPY_TO', 'MIRROR_PG_BIN', 'MIRROR_PG_PORT'];

describe('the compose file', () => {
  it('sets or hands on every setting, except those of the image and of other databases', () => {
    const told = [...Object.keys(daemon), ...OF_THE_IMAGE, ...OF_NO_USE];
    expect(told.toSorted()).toEqual([...VARIABLES, 'HTTPS_PROXY', 'NO_PROXY'].toSorted());
    expect(Object.keys(daemon).filter((name) => daemon[name] !== null)).toEqual([
      'DATABASE_URL',
      'MIRROR_API_URL',
      'MIRROR_API_KEY',
      'MIRROR_HTTP_PORT',
      'MIRROR_WEBHOOK_PORT',
    ]);
  });

  it('runs each container without root, without capabilities, on a read-only file system', () => {
    const { services } = parse(composeFile, { merge: true }) as { services: Record<string, Record<string, unknown>> };
    const least = { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] };
    expect(services).toMatchObject({
      mirror: { ...least, image: 'research-mirror' },
      postgres: { ...least, user: 'postgres' },
      sandbox: { ...least, image: 'research-mirror' },
    });
    expect(Object.keys(services)).toHaveLength(3);
    // Nothing else names a user than the image.
    expect([services['mirror']?.['user'], services['sandbox']?.['user']]).toEqual([undefined, undefined]);
    expect(read('Dockerfile')).toMatch(/^USER 1000:1000$/m);
  });

  it('has the key from a file where docker-compose.secrets.yml is beside it, and not from the environment', () => {
    const service = /^ {2}mirror:\n[\s\S]*?\n\n/m.exec(read('docker-compose.secrets.yml'))?.[0] ?? '';
    expect(environmentOf(service)).toEqual({
      MIRROR_API_KEY: "''",
      MIRROR_API_KEY_FILE: '/run/secrets/api-key',
    });
  });

  it('leaves to the image what the image sets', () => {
    const set = [...read('Dockerfile').matchAll(/^.* ((?:MIRROR|LOG|DATABASE)_[A-Z_]+)=/gm)].map(([, name]) => name);
    expect(new Set(set)).toEqual(new Set(OF_THE_IMAGE));
  });

  it('stands in for a missing account with what docker/compose-start.js takes for one', () => {
    const script = read('docker/compose-start.js');
    for (const name of ['MIRROR_API_URL', 'MIRROR_API_KEY']) {
      const standIn = new RegExp(`${name}: \\$\\{${name}:-(.+)\\}`).exec(composeFile)?.[1];
      expect(script).toContain(`${name}: '${standIn}'`);
    }
  });
});
