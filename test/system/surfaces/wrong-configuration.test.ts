import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Environment, System } from '../../support/processes/system.ts';
import { createDbaSystem, playedRows } from './played-rows.ts';

// What stops a command is said by each command that it stops, with one exit code for one kind.

/** The second table of docs/what-goes-wrong.md: an exit code, and words that are said. */
const ROWS = playedRows(4).map(([what = '', sync = '', status = '', doctor = '']) => {
  return { what, sync, status, doctor };
});

let dba: Awaited<ReturnType<typeof createDbaSystem>>;
let system: System;

beforeAll(async () => {
  dba = await createDbaSystem({ keys: 'key-a=1001,key-b=1002' });
  ({ system } = dba);
  await system.sync(['--full'], { env: right() });
});
afterAll(() => dba.close());

const right = (): Environment => ({
  MIRROR_API_KEY: 'key-a',
  DATABASE_URL: dba.url.href,
  MIRROR_SETTLE: '1s',
  MIRROR_WEBHOOK_PORT: '0',
});

const database = (bent: Partial<URL>): Environment => ({
  DATABASE_URL: Object.assign(new URL(dba.url), bent).href,
});

/** What is set otherwise, by the name that the table has. */
const WRONG: Readonly<Record<string, () => Environment>> = {
  'no key': () => ({ MIRROR_API_KEY: undefined }),
  'a wrong key': () => ({ MIRROR_API_KEY: 'wrong-key' }),
  'the key of another account': () => ({ MIRROR_API_KEY: 'key-b' }),
  'a wrong password of the database': () => database({ password: 'other' }),
  'a database that is not there': () => database({ pathname: '/nothing_there' }),
  'a port where no database is': () => database({ port: '1' }),
  'MIRROR_API_URL is not a URL': () => ({ MIRROR_API_URL: 'service.example' }),
  'MIRROR_PUBLIC_URL is not a URL': () => ({ MIRROR_PUBLIC_URL: 'somewhere' }),
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
