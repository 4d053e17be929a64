import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { sqlState } from '../../../src/db/connection/sql-state.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { createLoginRole, type LoginRole } from '../postgres/login-role.ts';
import { createMigratedDatabase, type MigratedDatabase } from '../databases/migrated-database.ts';

type Rows = Record<string, unknown>[];

interface Roles {
  /** Of the group whose members may submit. */
  readonly submitter: LoginRole;
  /** Of the group whose members may read. */
  readonly reader: LoginRole;
  /** Of no group; it may only look into the schema. */
  readonly stranger: LoginRole;
}

/** A mirror with account 7 and an empty queue for each test, and who logs in there. */
export interface SubmittingRoles extends Roles {
  /** Runs SQL with all rights. */
  readonly owner: (text: string) => Promise<Rows>;
  /** In the order in which they were queued; payloads as text. */
  readonly submissions: () => Promise<Rows>;
}

/** To be called once in a test file. */
export function submittingRoles(): SubmittingRoles {
  let made: (Roles & { readonly database: MigratedDatabase }) | undefined;
  const now = (): NonNullable<typeof made> => {
    if (made === undefined) throw new RangeError('no test runs');
    return made;
  };
  const scene: SubmittingRoles = {
    get submitter() {
      return now().submitter;
    },
    get reader() {
      return now().reader;
    },
    get stranger() {
      return now().stranger;
    },
    owner: async (text) =>
      (await sql<Record<string, unknown>>`${sql.raw(text)}`.execute(now().database.kysely)).rows,
    submissions: () =>
      scene.owner(`select _user_id, operation, target_id, payload::text as payload, idempotency_key, state
        from mirror.submissions order by submission_id`),
  };
  beforeAll(async () => {
    const database = await createMigratedDatabase();
    const submitter = await createLoginRole(database, ['mirror_submitter']);
    const reader = await createLoginRole(database, ['mirror_reader']);
    const stranger = await createLoginRole(database, []);
    made = { database, submitter, reader, stranger };
    await scene.owner(`grant usage on schema mirror to ${stranger.name}`);
  });
  afterAll(async () => {
    if (made === undefined) return;
    for (const each of [made.submitter, made.reader, made.stranger]) await each.drop();
    await made.database.drop();
  });
  beforeEach(() => scene.owner(`insert into mirror_sync.account (_user_id, created_at) values (7, now())`));
  afterEach(() =>
    scene.owner(
      `delete from mirror.submissions; delete from mirror_sync.account; delete from mirror_sync.installation`,
    ),
  );
  return scene;
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
