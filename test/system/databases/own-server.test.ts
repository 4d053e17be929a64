import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  isMachinePostgresTested,
  type MachineServer,
  startMachineServer,
} from '../../support/postgres/machine-postgres.ts';
import { ask } from '../../support/postgres/on-connection.ts';
import { makeFolder, runProgram } from '../../support/processes/program.ts';
import { ROOT } from '../../support/rules/source-files.ts';

const PASSWORD = 'a-word';
const page = await readFile(join(ROOT, 'docs/databases.md'), 'utf8');
/** The statements that the page has for psql, and those that it has for a database of others. */
const [, byHand = ''] = /<<'SQL'\n([\s\S]*?)^SQL$/m.exec(page) ?? [];
const [, schemas = ''] = /`(create schema mirror authorization [^`]+)`/.exec(page) ?? [];

// Roles of these names may be there on the server that all tests share.
describe.runIf(isMachinePostgresTested('the SQL that makes a role for a server of your own'))(
  'docs/databases.md',
  () => {
    const folder = makeFolder();
    let server: MachineServer;
    beforeAll(async () => {
      server = await startMachineServer();
      for (const statement of statementsOf(byHand)) await ask(server.url, statement.replace('…', PASSWORD));
    });
    afterAll(async () => {
      await server.remove();
      folder.remove();
    });

    it.each([
      ['a database that it makes', 'mirror', []],
      ['the schemas that it makes in a database of others', 'others', ['create database others', schemas]],
    ])('has the SQL for a login that can mirror, into %s', async (_, database, before) => {
      const as = (user: string) => {
        const url = Object.assign(new URL(server.url), { pathname: `/${database}` });
        return user === '' ? url.href : Object.assign(url, { username: user, password: PASSWORD }).href;
      };
      const [make, then] = before;
      if (make !== undefined) await ask(server.url, make);
      for (const statement of statementsOf(then ?? '')) await ask(as(''), statement);
      const env = { DATABASE_URL: as('mirror_owner') };
      expect(await runProgram(['migrate'], { cwd: folder.path, env })).toMatchObject({ code: 0 });
      const rights = `select has_table_privilege('mirror_reader', 'mirror.lists', 'select') as reads,
      has_function_privilege('mirror_submitter', 'mirror.cancel_submission(bigint)', 'execute') as submits,
      (select rolsuper or rolcreaterole or rolcreatedb from pg_roles where rolname = 'mirror_owner') as more`;
      expect(await ask(as(''), rights)).toEqual([{ reads: true, submits: true, more: false }]);
    });
  },
);

function statementsOf(text: string): readonly string[] {
  return text
    .split(';')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}
