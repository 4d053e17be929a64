import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testDatabase } from '../support/databases/migrated-database.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { MirroredAccount } from '../support/mirror/mirrored-account.ts';
import { createReaderLogin, type ReaderLogin } from '../support/postgres/reader-login.ts';
import { makeFolder, type Running, runProgram, startProgram } from '../support/processes/program.ts';

const database = testDatabase();
let login: ReaderLogin;
let program: Running;
const folder = makeFolder();

/** A client of the protocol, as plain as it gets: a JSON message a line. */
let asked = 0;
async function request(method: string, params: object): Promise<{ result?: unknown; error?: unknown }> {
  asked += 1;
  const id = asked;
  program.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  const line = new RegExp(`^.*"id":${id}\\b.*\n`, 'm');
  const found = await eventually('the answer', async () => line.exec(program.output())?.[0]);
  return JSON.parse(found) as { result?: unknown; error?: unknown };
}

interface Answer {
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
}

async function call(name: string, parameters: object): Promise<{ error: boolean; text: string }> {
  const { result, error } = await request('tools/call', { name, arguments: parameters });
  if (error !== undefined) return { error: true, text: JSON.stringify(error) };
  const { isError = false, content } = result as Answer;
  return { error: isError, text: content.map(({ text }) => text).join('') };
}

async function rows(name: string, parameters: object): Promise<{ rows: Record<string, string>[]; more: boolean }> {
  const { error, text } = await call(name, parameters);
  if (error) throw new Error(text);
  return JSON.parse(text) as { rows: Record<string, string>[]; more: boolean };
}

beforeAll(async () => {
  const account = await MirroredAccount.make(database, '42');
  await account.page('research_jobs', '[{"job_id":1,"status":"queued","price":1.10},{"job_id":2}]');
  await account.page('research_jobs', '[{"job_id":1,"status":"completed","price":1.10}]');
  login = await createReaderLogin(database.url);
  program = startProgram(['mcp'], { cwd: folder.path, env: { DATABASE_URL: login.url }, stdin: 'open' });
  await request('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  });
  program.child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
});
afterAll(async () => {
  program.child.kill('SIGKILL');
  await program.ended;
  await login.drop();
  folder.remove();
});

describe('mcp', () => {
  it('has tools that only read, each with what it is for', async () => {
    const { result } = await request('tools/list', {});
    const { tools } = result as { tools: { name: string; annotations: { readOnlyHint: boolean } }[] };
    expect(tools.map(({ name, annotations }) => `${name} ${annotations.readOnlyHint}`)).toEqual([
      'tables true',
      'query true',
      'freshness true',
      'changes true',
    ]);
  });

  it('says what tables and columns mean', async () => {
    const all = await rows('tables', {});
    expect(all.rows).toContainEqual({
      name: 'companies',
      kind: 'view',
      meaning: expect.stringContaining('one row per domain') as string,
    });
    expect(all.rows.filter(({ name }) => name?.startsWith('_'))).toEqual([]);
    const of = await rows('tables', { table: 'research_jobs' });
    expect(of.rows).toContainEqual({
      name: 'price',
      type: 'numeric',
      meaning: 'Field "price" of the items.',
    });
    expect((await call('tables', { table: "x' or '1'='1" })).error).toBe(true);
  });

  it('runs a query with every digit, and says when there is more', async () => {
    expect(await rows('query', { sql: 'select job_id, price from research_jobs order by 1', limit: 1 })).toEqual({
      rows: [{ job_id: '1', price: '1.10' }],
      more: true,
    });
    const large = await rows('query', { sql: `select repeat('x', 150000) as x from generate_series(1, 3)` });
    expect(large).toMatchObject({ rows: [{}], more: true });
  });

  it.each([
    ['delete from research_jobs', 'read-only transaction'],
    ['select * from mirror_sync.account', 'permission denied'],
    ['select 1; select 2', 'multiple commands'],
    ['select nothing', 'does not exist'],
    ['copy (select 1) to stdout', 'use SELECT'],
    [`select repeat('x', 200001) as x`, 'the first row alone has 200,001 characters'],
    [`select repeat('x', 100 * 1024 * 1024) as x`, 'the limit is 64 MiB'],
  ])('refuses, and tells the model why: %s', async (sql, why) => {
    const { error, text } = await call('query', { sql });
    expect(error).toBe(true);
    expect(text).toContain(why);
  });

  it('tells how fresh the mirror is, and what changed', async () => {
    await database.db
      .sql`insert into ${database.db.table('_collections')} (_user_id, collection) values (42, 'research_jobs')
      on conflict do nothing`;
    expect((await rows('freshness', {})).rows).toMatchObject([{ _user_id: '42', collection: 'research_jobs' }]);
    const { rows: changed } = await rows('changes', {
      user_id: '42',
      collection: 'research_jobs',
      since_change_id: '0',
    });
    expect(changed).toHaveLength(3);
    expect(changed[0]).toMatchObject({
      op: 'update',
      field: 'status',
      before: '"queued"',
      after: '"completed"',
    });
    expect((await call('changes', { user_id: '42 or true' })).error).toBe(true);
  });

  it('ends with 0 when its client has gone, and with 2 where the configuration is wrong', async () => {
    program.child.stdin.end();
    expect(await program.ended).toMatchObject({ code: 0, stderr: '' });
    expect(await runProgram(['mcp'], { cwd: folder.path, env: { MIRROR_SCHEMA: 'pg_x' } })).toMatchObject({
      code: 2,
      stdout: '',
    });
  });
});
