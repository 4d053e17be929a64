import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { COLLECTIONS, type Collection, type CollectionName } from '../../model/collections.ts';
import type { ChangeOp, LatestChange } from '../../model/status/latest-change.ts';
import { type BeganVersion, countAtOnce, type RowsAtOnce, versionsBelow, WINDOW } from './began-versions.ts';

/** Entries that are shown. */
const ENTRIES = 12;
/** So many rows that came or went within ten minutes are shown one by one; more are counted. */
const ONE_BY_ONE = 3;
/** Ten minutes, in change IDs: they follow the clock in microseconds. */
const AT_ONCE = 600_000_000n;
/** How often it is looked further back where one load fills all that was found. */
const ROUNDS = 4;
/** Fields of one change that are shown; its status first. */
const FIELDS = 3;
/** Characters of a value that are kept. */
const VALUE = 160;

/** An account, and its last change ID. */
export interface AccountMark {
  readonly userId: string;
  readonly changeId: string;
}

/** The accounts that changed last: the newest entries are among theirs. */
export async function latestMarks(db: Db): Promise<AccountMark[]> {
  const { rows } = await db.sql<AccountMark>`
    select a._user_id as "userId", a.change_id as "changeId" from ${db.stateTable('account')} as a
    where a.change_id > 0 order by a.change_id desc limit ${ENTRIES}`;
  return rows;
}

/**
 * The newest changes over all accounts, the newest first; at most `ENTRIES`.
 * @param marks those of `latestMarks`
 * @param last what was found last: of many rows that have not become more since, nobody counts again
 */
export async function readLatestChanges(
  db: Db,
  marks: readonly AccountMark[],
  last: readonly LatestChange[] = [],
): Promise<LatestChange[]> {
  const found: LatestChange[] = [];
  for (const { userId, changeId } of marks) {
    // Nothing of this account, or of those after it, is newer than what is there.
    const oldest = found[ENTRIES - 1];
    if (oldest !== undefined && BigInt(oldest.changeId) > BigInt(changeId)) break;
    found.push(...(await ofAccount(db, userId, last)));
    found.sort((a, b) => Number(BigInt(b.changeId) - BigInt(a.changeId)));
    found.splice(ENTRIES);
  }
  return found;
}

async function ofAccount(db: Db, userId: string, last: readonly LatestChange[]): Promise<LatestChange[]> {
  const entries = entriesOf(await versionsOf(db, userId)).slice(0, ENTRIES);
  const many = entries.filter((entry) => 'rowsFrom' in entry);
  const single = entries.filter((entry) => !('rowsFrom' in entry)).map(({ id }) => id);
  const counted = new Map(
    last.filter((each) => each.key === null && each.userId === userId).map((each) => [each.changeId, each]),
  );
  const left = many.filter(({ id }) => !counted.has(id));
  const counts = await countAtOnce(db, userId, left);
  for (const [index, { collection, op, id, at }] of left.entries()) {
    const count = counts[index] ?? { rows: 0, more: false };
    const what = { at: at.toISOString(), userId, collection, op, ...count, changeId: id };
    counted.set(id, { ...what, key: null, field: null, before: null, after: null, moreFields: 0 });
  }
  return [...(await detailsOf(db, userId, single)), ...many.flatMap(({ id }) => counted.get(id) ?? [])];
}

/** The account's newest versions over all collections, further back where one load is all that was found. */
async function versionsOf(db: Db, userId: string): Promise<BeganVersion[]> {
  const found = new Map<string, BeganVersion>();
  let look: readonly (readonly [Collection, below: bigint | null])[] = COLLECTIONS.map((each) => [
    each,
    null,
  ]);
  for (let round = 0; round < ROUNDS && look.length > 0; round += 1) {
    const next: (readonly [Collection, bigint])[] = [];
    const versions = await versionsBelow(db, userId, look);
    for (const version of versions) {
      // One that is found twice is told best where it stands.
      if (version.op !== null || !found.has(version.id)) found.set(version.id, version);
    }
    for (const [each] of look) {
      const standing = versions.filter(({ collection, stands }) => collection === each.name && stands);
      const oldest = standing.at(-1);
      if (oldest === undefined || standing.length < WINDOW) continue;
      const begin = atOnce(oldest) * AT_ONCE;
      if (standing.every((version) => version.op === oldest.op && atOnce(version) * AT_ONCE === begin)) {
        next.push([each, begin]);
      }
    }
    look = next;
  }
  return [...found.values()].toSorted(newestFirst);
}

/** One change of one row or few, by their change IDs; or many rows. */
type Entry = Pick<BeganVersion, 'id'> | RowsAtOnce;

/** @param versions the newest first; so are the entries */
function entriesOf(versions: readonly BeganVersion[]): Entry[] {
  const groups = Map.groupBy(versions, (version) =>
    version.op === null ? version.id : `${version.collection} ${version.op} ${atOnce(version)}`,
  );
  const entries = [...groups.values()].flatMap((group): Entry[] => {
    const [newest] = group;
    if (newest === undefined || newest.op === null || group.length <= ONE_BY_ONE) return group;
    const { collection, op, id, at } = newest;
    const from = atOnce(newest) * AT_ONCE;
    return [{ collection, op, id, at, rowsFrom: from, rowsTo: from + AT_ONCE }];
  });
  return entries.toSorted(newestFirst);
}

function newestFirst(a: { readonly id: string }, b: { readonly id: string }): number {
  return Number(BigInt(b.id) - BigInt(a.id));
}

/** Which ten minutes. */
function atOnce({ id }: BeganVersion): bigint {
  return BigInt(id) / AT_ONCE;
}

interface ChangeRow {
  readonly collection: CollectionName;
  readonly key: string;
  readonly op: ChangeOp;
  readonly field: string | null;
  readonly before: string | null;
  readonly after: string | null;
  readonly at: Date;
  readonly changeId: string;
  readonly moreFields: number;
}

async function detailsOf(db: Db, userId: string, ids: readonly string[]): Promise<LatestChange[]> {
  if (ids.length === 0) return [];
  const { rows } = await db.sql<ChangeRow>`
    select c.collection, c.key, c.op, c.field, ${cut('before')}, ${cut('after')}, c.changed_at as at,
      c.change_id as "changeId",
      case when c.place = ${FIELDS}::int then c.fields - ${FIELDS}::int else 0 end::float8 as "moreFields"
    from (
      select v.*, count(*) over (partition by v.change_id, v.op) as fields,
        row_number() over (partition by v.change_id, v.op order by v.field is distinct from 'status', v.field) as place
      from ${db.table('changes')} as v
      where v._user_id = ${userId}::bigint and v.change_id = any(${ids}::bigint[])) as c
    where c.place <= ${FIELDS}::int
    order by c.change_id desc, c.changed_at desc, c.place limit ${2 * ENTRIES}`;
  // With MIRROR_DELETES=hard a row's last version has the deletion's change ID: how it began is older than it says.
  const removed = new Set(rows.filter(({ op }) => op === 'delete').map(({ changeId }) => changeId));
  const last = rows.filter(({ op, changeId }) => op.endsWith('delete') || !removed.has(changeId));
  return last.map(({ at, collection, op, ...row }) => {
    const what = { at: at.toISOString(), userId, collection, op, rows: 1, more: false };
    return { ...what, ...row };
  });
}

function cut(column: 'before' | 'after'): RawBuilder<unknown> {
  const text = sql`c.${sql.id(column)}::text`;
  return sql`case when length(${text}) > ${VALUE}::int then left(${text}, ${VALUE}::int) || '…' else ${text} end
    as ${sql.id(column)}`;
}
