import type { Db } from '../connection/db.ts';
import { sql } from 'kysely';

/** A group role of the mirror (NOLOGIN): its members read every table and view, and call some functions. */
export interface GroupRole {
  readonly name: string;
  /** Names of the functions that they may call. */
  readonly calls: RegExp;
}

/** `<schema>_reader` and `<schema>_submitter`. */
export function groupRoles(schema: string): readonly GroupRole[] {
  return [
    { name: `${schema}_reader`, calls: /_as_of$|_since$|^row_story$/ },
    { name: `${schema}_submitter`, calls: /_as_of$|_since$|^row_story$|^submit$|^cancel_submission$/ },
  ];
}

/** Makes missing group roles where this user may make roles (else a DBA can). */
export async function makeRoles(db: Db): Promise<void> {
  if (!(await mayMakeRoles(db))) return;
  for (const { name } of groupRoles(db.schema)) {
    if ((await roleId(db, name)) === null) await db.sql`create role ${sql.id(name)} nologin`;
  }
}

export async function mayMakeRoles(db: Db): Promise<boolean> {
  const { rows } = await db.sql<{ may: boolean }>`
    select rolcreaterole or rolsuper as may from pg_roles where rolname = current_user`;
  return rows[0]?.may === true;
}

/** The role's ID; null where there is none. A role that was dropped and made again has another ID. */
export async function roleId(db: Db, name: string): Promise<string | null> {
  const { rows } = await db.sql<{ id: string }>`
    select oid::text as id from pg_roles where rolname = ${name}`;
  return rows[0]?.id ?? null;
}
