import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../support/postgres/postgres.ts';
import { createSystem, type Environment, type System } from '../../support/processes/system.ts';
import { playedRows } from './played-rows.ts';

// What stops a command is said by each command that it stops, with one exit code for one kind.

/** The second table of docs/what-goes-wrong.md: an exit code, and words that are said. */
const ROWS = playedRows(4).map(([what = '', sync = '', status = '', doctor = '']) => {
  return { what, sync, status, doctor };
});

const LOGIN = `daemon_${randomBytes(4).toString('hex')}`;
let system: System;
let url: URL;

beforeAll(async () => {
  system = await createSystem({ keys: 'key-a=1001,key-b=1002' }, await createTestDatabase());
  url = new URL(system.databaseUrl);
  await system.db.query(`create role ${LOGIN} login password 'word'`);
  await system.db.query(`grant create on database "${url.pathname.slice(1)}" to ${LOGIN}`);
  url.username = LOGIN;
  url.password = 'word';
  await system.sync(['--full'], { env: right() });
});
afterAll(async () => {
  await system?.db.query(`drop owned by ${LOGIN} cascade`);
  await system?.close();
});

const right = (): Environment => ({
  MIRROR_API_KEY: 'key-a',
  DATABASE_URL: url.href,
  MIRROR_SETTLE: '1s',
  MIRROR_WEBHOOK_PORT: '0',
});

function database(bend: (url: URL) => void): Environment {
  const bent = new URL(url.href);
  bend(bent);
  return { DATABASE_URL: bent.href };
}

/** What is set otherwise, by the name that the table has. */
const WRONG: Readonly<Record<string, () => Environment>> = {
  'no key': () => ({ MIRROR_API_KEY: undefined }),
  'a wrong key': () => ({ MIRROR_API_KEY: 'wrong-key' }),
  'the key of another account': () => ({ MIRROR_API_KEY: 'key-b' }),
  'a wrong password of the database': () => database((bent) => void (bent.password = 'other')),
  'a database that is not there': () => database((bent) => void (bent.pathname = '/nothing_there')),
  'a port where no database is': () => database((bent) => void (bent.port = '1')),
  'MIRROR_API_URL is no URL': () => ({ MIRROR_API_URL: 'service.example' }),
  'MIRROR_PUBLIC_URL is no URL': () => ({ MIRROR_PUBLIC_URL: 'somewhere' }),
  'MIRROR_PUBLIC_URL leads to another program': () => ({ MIRROR_PUBLIC_URL: system.sandbox.url }),
  'an unknown collection': () => ({ MIRROR_COLLECTIONS: 'lists,job' }),
  'a misspelt variable': () => ({ MIRROR_APY_KEY: 'x' }),
  'MIRROR_DATA_DIR can’t be written': () => ({
    MIRROR_DATA_DIR: '/proc/nowhere',
    DATABASE_URL: undefined,
  }),
};

describe('the table of wrong configuration', () => {
  it('has a row for each', () => {
    expect(ROWS.map(({ what }) => what)).toEqual(Object.keys(WRONG));
  });

  it.each(ROWS)('$what', async (row) => {
    const env = { ...right(), ...WRONG[row.what]?.() };
    for (const [command, cell] of [
      ['sync', row.sync],
      ['status', row.status],
      ['doctor', row.doctor],
    ] as const) {
      const { code, stdout, stderr } = await system.run([command], env);
      const [, expected, words = ''] = /^(\d+) ?(.*)$/.exec(cell) ?? [];
      const said = `${command}: ${code}\n${stdout}${stderr}`;
      expect(said).toContain(`${command}: ${expected}\n`);
      expect(said).toContain(words);
    }
  });
});
