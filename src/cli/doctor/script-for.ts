import type { Config } from '../../config/config.ts';
import { readDsn } from '../../db/connection/dsn.ts';
import { dbaScript } from '../../db/roles/dba-script.ts';

/**
 * What a DBA runs for this configuration. Login and database are those of DATABASE_URL; without it (or what it leaves
 * out) `<schema>_owner` and `<schema>`. Asks no database.
 */
export function scriptFor({ database, schema }: Config): string {
  const dsn = database.kind === 'external' ? readDsn(database.url.reveal(), database.variables()) : undefined;
  return dbaScript({
    schema,
    owner: dsn?.user ?? `${schema}_owner`,
    database: dsn?.database ?? dsn?.user ?? schema,
  });
}
