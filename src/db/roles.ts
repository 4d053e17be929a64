import { sql, type Kysely } from 'kysely';

/** What became of a group role: `absent` where the daemon may not make it (a DBA can). */
export type RoleState = 'absent' | 'made' | 'there';

/**
 * Makes the group roles `<schema>_reader` and `<schema>_submitter` (NOLOGIN) where this user may, and grants them
 * the schema once: when a role has no USAGE on it yet. Later tables come by default privileges, so that grants that
 * a DBA adds or takes away stay as they are. Functions are granted one by one, here and by the migration that makes
 * them: some of them write.
 */
export async function ensureRoles(
  db: Kysely<unknown>,
  schema: string,
): Promise<{ readonly reader: RoleState; readonly submitter: RoleState }> {
  return {
    reader: await ensureRole(db, schema, `${schema}_reader`, READING),
    submitter: await ensureRole(db, schema, `${schema}_submitter`, [...READING, ...SUBMITTING]),
  };
}

/** Names of functions, as patterns of LIKE. */
const READING = ['%\\_as\\_of'];
const SUBMITTING = ['submit', 'cancel\\_submission'];

async function ensureRole(
  db: Kysely<unknown>,
  schema: string,
  role: string,
  functions: readonly string[],
): Promise<RoleState> {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ there: boolean; granted: boolean; may: boolean }>`
      select to_regrole(quote_ident(${role})) is not null as there,
        coalesce(has_schema_privilege(to_regrole(quote_ident(${role})), ${schema}, 'USAGE'), false) as granted,
        (select rolcreaterole or rolsuper from pg_roles where rolname = current_user) as may`.execute(trx);
    const found = rows[0];
    if (found === undefined || (!found.there && !found.may)) return 'absent';
    if (!found.there) await sql`create role ${sql.id(role)} nologin`.execute(trx);
    if (!found.granted) {
      await sql`grant usage on schema ${sql.id(schema)} to ${sql.id(role)}`.execute(trx);
      await sql`grant select on all tables in schema ${sql.id(schema)} to ${sql.id(role)}`.execute(trx);
      await sql`alter default privileges in schema ${sql.id(schema)} grant select on tables to ${sql.id(role)}`.execute(
        trx,
      );
      await grantFunctions(trx, schema, role, functions);
    }
    return found.there ? 'there' : 'made';
  });
}

async function grantFunctions(
  trx: Kysely<unknown>,
  schema: string,
  role: string,
  names: readonly string[],
): Promise<void> {
  const { rows } = await sql<{ signature: string }>`
    select oid::regprocedure::text as signature from pg_proc
    where pronamespace = to_regnamespace(quote_ident(${schema})) and proname like any (${names}::text[])`.execute(
    trx,
  );
  for (const { signature } of rows) {
    await sql`grant execute on function ${sql.raw(signature)} to ${sql.id(role)}`.execute(trx);
  }
}
