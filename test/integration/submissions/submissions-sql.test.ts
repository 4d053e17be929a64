import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { messageOf } from '@research-mirror/runtime/message';
import { OPERATION_NAMES, TARGETED_OPERATIONS } from '../../../src/model/submission.ts';
import { sqlState } from '../../../src/postgres/sql-state.ts';
import { testDatabase } from '../../support/databases/migrated-database.ts';
import { createLoginRole, type LoginRole } from '../../support/postgres/login-role.ts';
import { sessionsWaiting } from '../../support/postgres/sessions-waiting.ts';

const database = testDatabase();
/** Of the group whose members may submit; whose members may read; of none: it may only look into the schema. */
let submitter: LoginRole;
let reader: LoginRole;
let stranger: LoginRole;

/** Runs SQL with all rights. */
const owner = async (text: string): Promise<Record<string, unknown>[]> =>
  (await sql<Record<string, unknown>>`${sql.raw(text)}`.execute(database.kysely)).rows;
const newAccount = (id: number) =>
  owner(`insert into mirror_sync.account (_user_id, created_at) values (${id}, now())`);

beforeAll(async () => {
  submitter = await createLoginRole(database, ['mirror_submitter']);
  reader = await createLoginRole(database, ['mirror_reader']);
  stranger = await createLoginRole(database, []);
  await owner(`grant usage on schema mirror to ${stranger.name}`);
});
afterAll(async () => {
  for (const each of [submitter, reader, stranger]) await each.drop();
});
beforeEach(() => newAccount(7));
afterEach(() =>
  owner(`delete from mirror.submissions; delete from mirror.operator_log;
    delete from mirror_sync.account; delete from mirror_sync.installation`),
);

/** In the order in which they were queued; payloads as text. */
const submissions = () =>
  owner(`select _user_id, operation, target_id, payload::text as payload, idempotency_key, state
    from mirror.submissions order by submission_id`);

/** What a call answers, or its SQLSTATE and message. */
const asked = (call: string, role = submitter): Promise<unknown> =>
  role.run(`select ${call} as answer`).then(
    ([row]) => row?.['answer'],
    (error: unknown) => `${sqlState(error)} ${messageOf(error)}`,
  );
const submit = (parameters = `'research', '{}'`) => asked(`mirror.submit(${parameters})`);
const cancel = (id: unknown) => asked(`mirror.cancel_submission(${String(id)})`);
const ID = expect.stringMatching(/^\d+$/) as string;

const settings = (values: object): Promise<unknown> =>
  owner(`insert into mirror_sync.installation (created_at, settings)
    values (now(), '${JSON.stringify({ submit: values })}')`);

describe('submit()', () => {
  it('queues an operation for a submitter, who then sees it; no digit of the payload is lost', async () => {
    const id = await submit(`'research', '{"n": 9007199254740993, "x": 1.10}'`);
    expect(await submitter.run('select submission_id, state, sent_at from mirror.submissions')).toEqual([
      { submission_id: id, state: 'queued', sent_at: null },
    ]);
    await submit(`'list_analyze', '{}', target_id => '12', user_id => 7, idempotency_key => 'k'`);
    const none = { target_id: null, idempotency_key: null, state: 'queued', _user_id: '7' };
    expect(await submissions()).toEqual([
      { ...none, operation: 'research', payload: '{"n": 9007199254740993, "x": 1.10}' },
      { ...none, operation: 'list_analyze', payload: '{}', target_id: '12', idempotency_key: 'k' },
    ]);
  });

  it('takes each of the seven operations', async () => {
    for (const operation of OPERATION_NAMES) {
      const target = TARGETED_OPERATIONS.includes(operation) ? `, '5'` : '';
      expect(await submit(`'${operation}', '{}'${target}`)).toEqual(ID);
    }
  });

  it.each([
    [`'reserch', '{}'`, /^RM010 there is no operation 'reserch': there are research, enrich, /],
    [`null, '{}'`, /^RM010 there is no operation NULL/],
    [`repeat('x', 1000000), '{}'`, /^RM010 there is no operation 'x{100}': /],
    [`'list_analyze', '{}'`, /^RM011 list_analyze needs a target_id: the list_id of a list$/],
    [`'sequence', '{}', ' '`, /^RM011 sequence needs a target_id: the job_id of a research job$/],
    [`'research', '{}', '5'`, /^RM011 research takes no target_id$/],
    [`'sequence', '{}', '..'`, /^RM011 the target_id is no ID/],
    [`'sequence', '{}', E'1\\r\\nX: y'`, /^RM011 the target_id is no ID/],
    [`'sequence', '{}', repeat('1', 201)`, /^RM011 the target_id is no ID/],
    [`'research', null`, /^RM012 the payload of research must be a JSON object, not NULL$/],
    [`'research', '[1]'`, /^RM012 .* not array$/],
    [`'research', jsonb_build_object('a', repeat('x', 1048576))`, /^RM012 .* more than 1 MiB$/],
    [`'research', '{}', user_id => 8`, /^RM013 account 8 is not mirrored here$/],
    [`'research', '{}', idempotency_key => ''`, /^RM016 the idempotency_key must have 1 to 200 characters$/],
    [`'research', '{}', idempotency_key => repeat('k', 201)`, /^RM016 the idempotency_key must have/],
  ])('refuses (%s) by an SQLSTATE of its own, and queues nothing', async (parameters, message) => {
    expect(await submit(parameters)).toMatch(message);
    expect(await submissions()).toEqual([]);
  });

  it('wants the account named where there are several, and says so where there is none', async () => {
    await owner(`insert into mirror_sync.account (_user_id, created_at) select n, now() from generate_series(1, 12) n
      on conflict do nothing`);
    expect(await submit()).toBe('RM013 there are 12 accounts: name one as user_id (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …)');
    expect(await submit(`'research', '{}', user_id => 3`)).toEqual(ID);
    await owner('delete from mirror_sync.account');
    expect(await submit()).toMatch(/^RM013 no account has been/);
  });

  it('looks up no more than the oldest and the newest while the queue can’t be full', async () => {
    await settings({ maxQueued: 2000 });
    await owner(`insert into mirror.submissions (_user_id, operation, payload, state, created_at)
      select 7, 'research', '{}', 'accepted', now() from generate_series(1, 10000)`);
    await submitter.run(`select count(mirror.submit('research', '{}')) from generate_series(1, 1999)`);
    await owner('analyze mirror.submissions');
    const plan = await owner(`explain select min(submission_id) from mirror.submissions
      where _user_id = 7 and state in ('queued', 'sending', 'held')`);
    expect(JSON.stringify(plan)).toContain('submissions_open');
    expect(await submit()).toEqual(ID);
    expect(await submit()).toMatch(/^RM014 2000 submissions/);
  });

  it('is refused while submissions are off, and beyond the bound of the account’s queue', async () => {
    await settings({ enabled: false });
    expect(await submit()).toMatch(/^RM015 .*MIRROR_SUBMIT=off/);
    await owner('delete from mirror_sync.installation');
    await settings({ enabled: true, maxQueued: 2 });
    await newAccount(8);
    const call = (user: number) => submit(`'research', '{}', user_id => ${user}`);
    await call(7);
    await call(7);
    expect(await call(7)).toBe('RM014 2 submissions of account 7 wait already: MIRROR_SUBMIT_MAX_QUEUED');
    expect(await call(8)).toEqual(ID);
    // What is done counts no more, wherever it stands.
    await owner(`update mirror.submissions set state = 'accepted', done_at = now()
      where submission_id = (select max(submission_id) from mirror.submissions where _user_id = 7)`);
    expect(await call(7)).toEqual(ID);
    expect(await call(7)).toMatch(/^RM014/);
    await owner(`update mirror.submissions set state = 'unknown', done_at = now() where _user_id = 7`);
    expect(await call(7)).toEqual(ID);
  });
});

describe('an idempotency key', () => {
  it('gives one submission to twenty sessions that use it at once', async () => {
    const call = `'research', '{"a": 1}', idempotency_key => 'order 1'`;
    const answers = await Promise.all(Array.from({ length: 20 }, () => submit(call)));
    expect([...new Set(answers)]).toEqual([ID]);
    expect(await submissions()).toHaveLength(1);
  });

  it('waits for another session that has used it and not committed, and takes its place when that rolls back', async () => {
    const call = `'research', '{}', idempotency_key => 'k'`;
    let waiting: Promise<unknown> | undefined;
    const first = submitter.kysely.transaction().execute(async (trx) => {
      await sql`select mirror.submit(${sql.raw(call)})`.execute(trx);
      waiting = submit(call);
      // Until the other one stands before the key.
      while ((await sessionsWaiting(owner)) !== 1);
      throw new Error('thought better of it');
    });
    await expect(first).rejects.toThrow('thought better of it');
    expect(await waiting).toEqual(ID);
    expect(await submissions()).toHaveLength(1);
  });

  it('gives the same submission whatever became of it, also where the queue is full', async () => {
    await settings({ maxQueued: 1 });
    const call = `'research', '{"a": 1, "b": 2}', idempotency_key => 'k'`;
    const id = await submit(call);
    expect(await submit(call)).toBe(id);
    await owner(`update mirror.submissions set state = 'unknown'`);
    // The same object in another spelling.
    expect(await submit(`'research', '{"b":2,"a":1}', idempotency_key => 'k'`)).toBe(id);
  });

  it.each([
    `'enrich', '{}', idempotency_key => 'k'`,
    `'sequence', '{"a": 1}', '2', idempotency_key => 'k'`,
    `'sequence', '{}', '1', idempotency_key => 'k'`,
  ])('is refused for something else (%s)', async (parameters) => {
    const id = await submit(`'sequence', '{"a": 1}', '1', idempotency_key => 'k'`);
    expect(await submit(parameters)).toBe(
      `RM016 idempotency_key 'k' is that of submission ${String(id)}, which is another operation, target or payload`,
    );
  });

  it('is the account’s own', async () => {
    await newAccount(8);
    const call = (user: number) => submit(`'research', '{"u": ${user}}', user_id => ${user}, idempotency_key => 'k'`);
    expect(await call(7)).not.toBe(await call(8));
  });
});

describe('cancel_submission()', () => {
  it.each(['queued', 'held'])('cancels what is %s, for good', async (state) => {
    const id = await submit();
    await owner(`update mirror.submissions set state = '${state}'`);
    expect(await cancel(id)).toBe(true);
    expect(await owner('select state, done_at is not null as done from mirror.submissions')).toEqual([
      { state: 'cancelled', done: true },
    ]);
    expect(await cancel(id)).toBe(true);
    // Queuing is no act of its own, nor is a second call.
    const columns = '_user_id, act, arguments, database_user, os_user, program';
    const cancelled = { _user_id: '7', act: 'submissions cancel', arguments: { submission_id: Number(id) } };
    const by = { database_user: submitter.name, os_user: null, program: null };
    expect(await owner(`select ${columns} from mirror.operator_log`)).toEqual([{ ...cancelled, ...by }]);
  });

  it.each(['sending', 'accepted', 'rejected', 'unknown'])('refuses what is %s', async (state) => {
    const id = await submit();
    await owner(`update mirror.submissions set state = '${state}'`);
    expect(await cancel(id)).toBe(
      `RM017 submission ${String(id)} is ${state}: only queued and held ones can be cancelled`,
    );
    expect(await submissions()).toMatchObject([{ state }]);
  });

  it('says that there is none', async () => {
    expect(await cancel('99')).toBe('RM017 there is no submission 99');
    expect(await cancel('null')).toBe('RM017 there is no submission NULL');
  });
});

describe('rights', () => {
  const CHANGES_OF_THE_LOG = [
    `insert into mirror.operator_log (_user_id, act, arguments) values (7, 'forget', '{}')`,
    `update mirror.operator_log set database_user = 'another'`,
    `delete from mirror.operator_log`,
    `truncate mirror.operator_log`,
  ];

  it('let a submitter do nothing but call the two functions and read', async () => {
    const refused = [
      `insert into mirror.submissions (_user_id, operation, payload, created_at) values (7, 'research', '{}', now())`,
      `update mirror.submissions set state = 'queued'`,
      `delete from mirror.submissions`,
      `truncate mirror.submissions`,
      ...CHANGES_OF_THE_LOG,
      `select * from mirror_sync.account`,
      `select * from mirror_sync.registration`,
      `create table mirror.mine ()`,
    ];
    for (const statement of refused) {
      const outcome = await submitter.run(statement).then(() => `done: ${statement}`, messageOf);
      expect(outcome).toMatch(/42501 permission denied/);
    }
  });

  it('let neither readers nor the public call them', async () => {
    for (const call of [`mirror.submit('research', '{}')`, 'mirror.cancel_submission(1)']) {
      expect(await asked(call, reader)).toMatch(/permission denied for function/);
      expect(await asked(call, stranger)).toMatch(/permission denied for function/);
    }
    for (const table of ['submissions', 'operator_log'])
      expect(await reader.run(`select count(*)::int as n from mirror.${table}`)).toEqual([{ n: 0 }]);
    for (const change of CHANGES_OF_THE_LOG)
      await expect(reader.run(change)).rejects.toThrow(/permission denied for table operator_log/);
    await expect(reader.run('select * from mirror_sync.installation')).rejects.toThrow(/permission denied/);
  });

  it('can’t be had by a search_path of one’s own', async () => {
    await owner(`create schema evil;
      create function evil.jsonb_typeof(jsonb) returns text language sql as $$ select 'object' $$;
      create function evil.cardinality(bigint[]) returns integer language sql as $$ select 1 $$;
      grant usage on schema evil to public`);
    const hijacked = submitter.kysely.transaction().execute(async (trx) => {
      await sql`set local search_path = evil, pg_catalog`.execute(trx);
      const own = await sql<{ t: string }>`select jsonb_typeof('[]'::jsonb) as t`.execute(trx);
      expect(own.rows).toEqual([{ t: 'object' }]);
      await sql`select mirror.submit('research', '[]')`.execute(trx);
    });
    await expect(hijacked).rejects.toThrow('must be a JSON object, not array');
    await owner('drop schema evil cascade');
  });
});
