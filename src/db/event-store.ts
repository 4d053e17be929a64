import { type Kysely, sql } from 'kysely';
import type { HintedRow } from '../model/hint.ts';
import { jsonbText } from '../model/jsonb-text.ts';
import { timestampText } from '../model/timestamp-text.ts';
import type { VerifiedEvent } from '../model/verified-event.ts';
import { commitDurably } from './durable-commit.ts';
import { addHints } from './hint-store.ts';
import { sqlState } from './sql-state.ts';

/**
 * Stores an event and what it hints, in one transaction: it is stored for good when this resolves. Without the fence,
 * since whichever process received it stores it; of several at once one stores it, and the others wait for that one's
 * commit and find it known. An event's ID is known for longer than its row is kept (prune-events.ts).
 * @param rows what the event names, of collections that are mirrored here
 * @throws DatabaseUnavailable: it may have been stored, and can be stored again
 */
export async function storeEvent(
  db: Kysely<unknown>,
  schema: string,
  userId: string,
  event: VerifiedEvent,
  rows: readonly HintedRow[],
): Promise<'stored' | 'known'> {
  try {
    return await store(db, schema, userId, event, rows, contentOf(event));
  } catch (error) {
    if (!isBeyondJsonb(error)) throw error;
    return store(db, schema, userId, event, rows, opaque(event));
  }
}

/** The columns that hold an event's body. */
interface Content {
  readonly data: string | null;
  readonly raw: string;
  readonly verbatim: string | null;
}

function store(
  db: Kysely<unknown>,
  schema: string,
  userId: string,
  { id, type, createdAt }: VerifiedEvent,
  rows: readonly HintedRow[],
  { data, raw, verbatim }: Content,
): Promise<'stored' | 'known'> {
  const named = rows.find(({ key }) => key !== '');
  return db.transaction().execute(async (trx) => {
    const { rows: seen } = await sql<{ now: Date }>`
      insert into ${sql.id(`${schema}_sync`, 'event_seen')} (_user_id, id, received_at)
      values (${userId}::bigint, ${id}, clock_timestamp())
      on conflict do nothing returning received_at as now`.execute(trx);
    const now = seen[0]?.now;
    if (now === undefined) return 'known';
    await commitDurably(trx);
    await sql`
      insert into ${sql.id(schema, 'events')}
        (_user_id, id, type, created_at, data, received_at, _raw, _verbatim, _collection, _key)
      values (${userId}::bigint, ${id}, ${type ?? null}, ${timestampText(createdAt ?? '') ?? null}::timestamptz,
        ${data}::text::jsonb, ${now}, ${raw}::text::jsonb, ${verbatim}, ${named?.collection ?? null}, ${named?.key ?? null})`.execute(
      trx,
    );
    await addHints(trx, schema, userId, rows, now);
    return 'stored';
  });
}

function contentOf(event: VerifiedEvent): Content {
  if (!isJson(event.source)) return opaque(event);
  const { raw, verbatim } = jsonbText(event.source);
  return {
    data: event.dataSource === undefined ? null : jsonbText(event.dataSource).raw,
    raw,
    verbatim: verbatim ?? null,
  };
}

/** A body that is no JSON, or none that Postgres can hold, as one JSON string. */
function opaque({ source }: VerifiedEvent): Content {
  const { raw, verbatim } = jsonbText(JSON.stringify(source));
  return { data: null, raw, verbatim: verbatim ?? null };
}

function isJson(source: string): boolean {
  try {
    JSON.parse(source);
    return true;
  } catch {
    return false;
  }
}

/** A number with too many digits, or nesting deeper than Postgres reads: errors of the value, which stay. */
function isBeyondJsonb(error: unknown): boolean {
  return /^(?:22|54)/.test(sqlState(error) ?? '');
}
