import { countOf } from '@research-mirror/runtime/figures';
import { Unusable } from '@research-mirror/runtime/errors';
import { sql } from 'kysely';
import { COLLECTION_NAMES } from '../model/collections.ts';
import { COLLECTIONS_OF, Privacy, type PrivacySettings } from '../model/privacy.ts';
import { OPERATION_NAMES } from '../model/submission.ts';
import type { Db } from './db.ts';

/** JSON path filter: a value that is neither null nor one of our hashes. */
const PLAIN = '(@.type() != "null" && (@.type() != "string" || !(@ like_regex "^[0-9a-f]{64}$")))';

/**
 * Stores the privacy settings for readers without them, and logs once what a change of them means for stored rows.
 * @throws Unusable: fields were hashed under another key
 */
export async function notePrivacy(
  db: Db,
  settings: PrivacySettings,
  now: Date,
  log: { info(line: string): void },
): Promise<void> {
  const privacy = new Privacy(settings);
  const { excludeFields, hashFields } = settings;
  const told = JSON.stringify([excludeFields, hashFields]);
  const emptied = OPERATION_NAMES.filter((name) => privacy.concerns(COLLECTIONS_OF[name]));
  const isNews = await db.transaction(async (trx) => {
    await trx.sql`insert into ${trx.stateTable('installation')} (created_at) values (${now}) on conflict do nothing`;
    const { rows } = await trx.sql<{ key: string | null; told: string | null }>`
      select hash_key as key, privacy_told as told from ${trx.stateTable('installation')} for update`;
    const key = rows[0]?.key ?? undefined;
    const hashes = COLLECTION_NAMES.some((name) => privacy.hashRule(name) !== '');
    const ours = hashes ? privacy.keyFingerprint : key;
    if (key !== undefined && key !== ours) {
      throw new Unusable(
        `MIRROR_HASH_KEY is not the key that fields were hashed with. Set that key again. To continue with ` +
          `the new one, if no query joins with older hashes: update "${db.stateSchema}".installation set hash_key = null`,
      );
    }
    await trx.sql`
      update ${trx.stateTable('installation')} set hash_key = ${ours ?? null}, privacy_told = ${told}, emptied_operations = ${[...emptied]}`;
    return rows[0]?.told !== told;
  });
  if (!isNews) return;
  for (const name of COLLECTION_NAMES) {
    const hashed = hashFields?.[name] ?? [];
    const paths = [
      ...excludeFields[name].map((field) => pathOf(field)),
      ...hashed.map((field) => pathOf(field, PLAIN)),
    ];
    if (paths.length === 0) continue;
    const holds = sql.join(
      paths.map((path) => sql`jsonb_path_exists(t._raw, ${path}::jsonpath, silent => true)`),
      sql` or `,
    );
    // It reads the whole table. If that takes too long, the start goes on.
    const rows = await db.sql<{ live: string }>`
      select count(*) as live from ${db.table(name)} as t where t._deleted_at is null and (${holds})`.then(
      ({ rows: [counted] }) => countOf(Number(counted?.live ?? 0), 'row'),
      () => 'rows (too many to count now)',
    );
    const where = paths.map((path) => `jsonb_path_exists(_raw, '${path.replaceAll("'", "''")}', silent => true)`);
    log.info(
      `${name}: ${rows} with fields that must not be stored. The next full walk ` +
        'removes the fields, without a new version. History, deleted rows, received events and ended submissions keep ' +
        `them. To delete versions that have them: delete from "${db.schema}".${name}_history where ${where.join(' or ')}; ` +
        'for the rest: docs/privacy.md, "Remove a field that should never have been stored"' +
        (hashed.length === 0 ? '' : '. Hashed fields give no _domain'),
    );
  }
}

/** @param filter of values that count */
function pathOf(field: string, filter?: string): string {
  const isDeep = field.startsWith('**.');
  const name = JSON.stringify(isDeep ? field.slice(3) : field);
  return `strict $${isDeep ? '.**' : ''}.${name}${filter === undefined ? '' : ` ? ${filter}`}`;
}
