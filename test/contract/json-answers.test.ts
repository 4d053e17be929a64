import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DistributeReport } from '../../src/operate/distribute.ts';
import { KEEPING } from '../../src/cli/keeping.ts';
import { MIRRORING } from '../../src/cli/mirroring.ts';
import { createEmptyDatabase } from '../support/databases/migrated-database.ts';
import { createReaderLogin, type ReaderLogin } from '../support/postgres/reader-login.ts';
import { checkAnswer, SCHEMAS } from '../support/processes/json-answers.ts';
import { createFrozenSystem, type System } from '../support/processes/system.ts';

const COMMANDS = Object.entries({ ...MIRRORING, ...KEEPING }).flatMap(([name, { options = {} }]) =>
  '--json' in options ? [name] : [],
);

/** Calls of each, in this order, with how they end; $1, $2 and $3: a submission, an event, an item in quarantine. */
const CALLS: readonly (readonly [code: number, command: string, ...args: readonly string[]])[] = [
  [0, 'sync', '--full'],
  [1, 'verify'],
  [0, 'status'],
  [0, 'doctor'],
  [0, 'submit', 'research', '--data', '{"company_url": "https://example.com"}'],
  [0, 'submissions', 'list'],
  [0, 'submissions', 'list', '--show', '$1'],
  [1, 'submissions', 'cancel', '$1'],
  [0, 'submissions', 'release'],
  [0, 'events', 'list'],
  [0, 'events', 'list', '--show', '$2'],
  [0, 'events', 'replay', '$2'],
  [0, 'quarantine', 'list'],
  [0, 'quarantine', 'list', '--show', '$3'],
  [0, 'columns', 'list'],
  [0, 'migrate'],
  [0, 'sql', 'select 1 as one, null as nil'],
  [0, 'forget', 'research_jobs', '1002', '--dry-run'],
  [0, 'forget', 'research_jobs', '1002', '--yes'],
  [0, 'forget', '--list'],
  [0, 'forget', 'research_jobs', '1002', '--undo'],
  [0, 'copy'],
  [0, 'accounts', 'list'],
  [0, 'accounts', 'move', '1001'],
  [0, 'accounts', 'retire', '1001', '--remove-data'],
];
/** No Citus is here: what its type says there is. */
const DISTRIBUTED: DistributeReport = {
  version: '13.2-1',
  workers: ['host:5432'],
  shards: 32,
  tables: [{ name: 'mirror.lists', rows: 3, outcome: 'distributed' }],
  pauseMs: 1.5,
  attempts: 1,
  missingLogins: ['mirror_sql'],
  leftOvers: [],
};

let system: System;
let target: Awaited<ReturnType<typeof createEmptyDatabase>>;
let reader: ReaderLogin;
beforeAll(async () => {
  [system, target] = await Promise.all([createFrozenSystem(), createEmptyDatabase()]);
  reader = await createReaderLogin(system.databaseUrl);
});
afterAll(async () => {
  await reader.drop();
  await system.close();
  await target.drop();
});

/** What lists show, and a row that differs. */
const fill = () =>
  system.db.query(`
    insert into mirror.events (_user_id, id, type, received_at, _raw, data)
      values (1001, 'evt_1', 'research.completed', now(), '{"id": "evt_1"}', '{"job_id": 7}');
    insert into mirror.quarantine (_user_id, collection, item_hash, item, reason, first_seen_at, last_seen_at)
      values (1001, 'research_jobs', '\\x00ff', '{}', 'has no key', now(), now());
    update mirror.research_jobs set status = 'other' where job_id = (select min(job_id) from mirror.research_jobs)`);

describe('the answers of --json', () => {
  it('have a schema for each command that has the option, and for no other', () => {
    const there = readdirSync(SCHEMAS).map((file) => file.replace('.schema.json', ''));
    expect(there.toSorted()).toEqual(COMMANDS.toSorted());
  });

  it('are as their schemas say, of every command', async () => {
    const asked = new Set<string>();
    for (const [code, command, ...given] of CALLS) {
      const args = given.map((each) => each.replace('$1', '1').replace('$2', 'evt_1').replace('$3', '00ff'));
      const env = command === 'sql' ? { DATABASE_URL: reader.url } : { MIRROR_COPY_TO: target.url };
      const outcome = await system.run([command, ...args, '--json'], env);
      expect({ asked: [command, ...args], ...outcome }).toEqual({
        ...outcome,
        asked: [command, ...args],
        code,
        stdout: expect.stringMatching(/^\{/) as string,
      });
      asked.add(command);
      if (asked.size === 1) await fill();
    }
    const sandbox = system.begin(['sandbox', '--json', '--port', '0', '--control-port', '0']);
    await sandbox.until('}\n');
    sandbox.child.kill('SIGINT');
    expect(await sandbox.ended).toMatchObject({ code: 0 });
    checkAnswer('distribute', DISTRIBUTED);
    expect([...asked, 'sandbox', 'distribute'].toSorted()).toEqual(COMMANDS.toSorted());
  });

  it('are refused with a field that the schema does not have', () => {
    expect(() => checkAnswer('distribute', { ...DISTRIBUTED, added: 1 })).toThrow('additional properties');
  });

  it.each(COMMANDS)('%s: a schema that names every field, so that a new one shows', (name) => {
    const text = readFileSync(join(SCHEMAS, `${name}.schema.json`), 'utf8');
    JSON.parse(text, (_, part: unknown) => {
      if (typeof part !== 'object' || part === null || !('properties' in part) || !('type' in part)) return part;
      expect(part).toMatchObject({ type: 'object', additionalProperties: false });
      expect(part).toHaveProperty('required');
      return part;
    });
  });
});
