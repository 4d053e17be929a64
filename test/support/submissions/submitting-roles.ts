import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { sqlState } from '../../../src/postgres/sql-state.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { createLoginRole, type LoginRole } from '../postgres/login-role.ts';
import { testDatabase } from '../databases/migrated-database.ts';

type Rows = Record<string, unknown>[];

interface Roles {
  /** Of the group whose members may submit. */
  readonly submitter: LoginRole;
  /** Of the group whose members may read. */
  readonly reader: LoginRole;
  /** Of no group; it may only look into the schema. */
  readonly stranger: LoginRole;
}

/** To be called once in a test file: a mirror with account 7 and an empty queue for each test, and who logs in there. */
export function submittingRoles() {
  const database = testDatabase();
  const roles = {} as Roles;
  /** Runs SQL with all rights. */
  const owner = async (text: string): Promise<Rows> =>
    (await sql<Record<string, unknown>>`${sql.raw(text)}`.execute(database.kysely)).rows;
  /** In the order in which they were queued; payloads as text. */
  const submissions = (): Promise<Rows> =>
    owner(`select _user_id, operation, target_id, payload::text as payload, idempotency_key, state
      from mirror.submissions order by submission_id`);
  beforeAll(async () => {
    const submitter = await createLoginRole(database, ['mirror_submitter']);
    const reader = await createLoginRole(database, ['mirror_reader']);
    const stranger = await createLoginRole(database, []);
    Object.assign(roles, { submitter, reader, stranger });
    await owner(`grant usage on schema mirror to ${stranger.name}`);
  });
  afterAll(async () => {
    for (const each of [roles.submitter, roles.reader, roles.stranger]) await each.drop();
  });
  beforeEach(() => owner(`insert into mirror_sync.account (_user_id, created_at) values (7, now())`));
  afterEach(() =>
    owner(
      `delete from mirror.submissions; delete from mirror.operator_log; delete from mirror_sync.account; delete from mirror_sync.installation`,
    ),
  );
  return Object.assign(roles, { owner, submissions });
}

/** What a call answers, or its SQLSTATE and message. */
export async function answer(role: LoginRole, call: string): Promise<unknown> {
  try {
    const [row] = await role.run(`select ${call} as answer`);
    return row?.['answer'];
  } catch (error) {
    return `${sqlState(error)} ${messageOf(error)}`;
  }
}
