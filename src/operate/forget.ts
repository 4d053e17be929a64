/** `forget`: erases rows, versions and events on request, and keeps them out. */

import { countOf } from '@research-mirror/runtime/figures';
import { type RawBuilder, sql } from 'kysely';
import { countRows } from '../mirror/counters.ts';
import { forgottenAmong } from '../mirror/live-rows.ts';
import { forgetSuspects } from '../mirror/suspect-store.ts';
import { dataTable, inParent, keyColumn, keyTypeName, ofScope, tableOf } from '../mirror/table.ts';
import { childrenOf, COLLECTIONS, type ListCollection, type Scope } from '../model/collections.ts';
import { forgottenHash, readKey } from '../model/key.ts';
import { listAccounts } from '../postgres/accounts.ts';
import { beginChangeIds, endChangeIds, takeChangeIds } from '../postgres/fenced.ts';
import { commitDurably, type Db, onlyRow } from '../postgres/db.ts';
import { notifyOnce } from '../postgres/notifications.ts';
import { logAct, type Operator, operatorOn } from '../postgres/operator-log.ts';
import { TARGETS } from '../status/lookup-store.ts';
import { noneOf, readUserId, refuseOptions } from '../terminal/given.ts';
import { onMirror } from '../terminal/open-mirror.ts';
import { askPerson, complain, EXIT, say, UsageError, widthOfTerminal } from '../terminal/shell.ts';
import type { Options, Shell } from '../terminal/shell.ts';
import { formatList, printable } from '../terminal/text-table.ts';

type ForgetOptions = Options<'yes' | 'dryRun' | 'undo' | 'list' | 'json' | 'demo', 'user'>;

/** In ms: all events of an account are searched, and a list may have many items. Less than readers look back. */
const BOUNDS = { statement: 50_000, idle: 5_000 };

export async function forgetAction(shell: Shell, table: string | undefined, keys: string[], options: ForgetOptions) {
  const { list, undo, user, demo } = options;
  if (list === true && table !== undefined) throw new UsageError('--list takes no table');
  if (list === true) refuseOptions('forget --list', options, ['yes', 'dryRun', 'undo']);
  if (undo === true) refuseOptions('forget --undo', options, ['yes', 'dryRun']);
  if (user !== undefined) readUserId(user, '--user: ');
  const named = list === true ? undefined : readNames(table, keys);
  return onMirror(shell, 'forget', { demo, bounds: BOUNDS }, async ({ db }) => {
    const rows = named && { ...named, userId: user ?? (await onlyAccount(db)) };
    const answer = await (rows === undefined
      ? keptOut(shell, db, user ?? null)
      : (undo === true ? remember : forget)(shell, db, rows, options));
    if (answer === undefined) {
      complain(shell, `there is no account ${rows?.userId} here. "research-mirror accounts" shows the accounts`);
      return EXIT.NO;
    }
    say(shell, options.json === true ? JSON.stringify(answer.json) : answer.text);
    return answer.code;
  });
}

/** @throws UsageError, with suggestions */
function readNames(table: string | undefined, keys: readonly string[]): Omit<NamedRows, 'userId'> {
  if (table === undefined) throw new UsageError('forget needs a table and keys, or --list');
  if (table === 'account')
    throw new UsageError('forget erases rows, not accounts. Use "accounts retire USER_ID --remove-data"');
  const lists = COLLECTIONS.filter((each) => each.kind === 'list');
  const names = lists.map(({ name }) => name);
  const list = lists.find(({ name }) => name === table);
  if (list === undefined) throw noneOf(names, table, 'forget: unknown table');
  if (keys.length === 0) throw new UsageError(`forget ${table} needs at least one key`);
  return { list, rows: keys.map((key) => readRow(list, key)) };
}

/** Reads a key in the form of `changes` and the views; an item of a list is `LIST:ID`. @throws UsageError */
function readRow({ name, keyType, parent }: ListCollection, given: string): NamedRows['rows'][number] {
  const colon = parent === undefined ? -1 : given.indexOf(':');
  const list = parent && readKey(parent.keyType, JSON.stringify(given.slice(0, Math.max(colon, 0))));
  const item = readKey(keyType, JSON.stringify(given.slice(colon + 1)));
  if ('key' in item && (list === undefined || 'key' in list)) return { parent: list?.key ?? '', key: item.key };
  const wanted = parent === undefined ? `Its keys are of type ${keyType}` : 'Give the list and the item, as in 7:abc';
  throw new UsageError(`${JSON.stringify(given)} is not a key of ${name}. ${wanted}`);
}

/** @throws UsageError unless exactly one account is mirrored */
async function onlyAccount(db: Db): Promise<string> {
  const [first, second] = await listAccounts(db);
  if (first === undefined) throw new UsageError('no account is mirrored here');
  if (second === undefined) return first.userId;
  throw new UsageError(
    'several accounts are mirrored here. Choose one with --user; "research-mirror accounts" shows them',
  );
}

async function forget(shell: Shell, db: Db, named: NamedRows, options: ForgetOptions) {
  const { dryRun = false, yes = dryRun } = options;
  const { userId, list } = named;
  const by = await operatorOn(db);
  const monotonic = (): number => shell.clock.monotonic();
  if (!yes) {
    const would = await forgetRows(db, { ...named, dryRun: true, monotonic, by });
    if (would === undefined) return undefined;
    shell.err.write(shell.scrubber.scrub(`${describe(list, would.rows, true)}\n`));
    const agreed = await askPerson(shell, 'Erase it for good?', 'forget');
    if (!agreed) return { code: EXIT.NO, json: { userId, rows: [] }, text: 'nothing was erased' };
  }
  const done = await forgetRows(db, { ...named, dryRun, monotonic, by });
  if (done === undefined) return undefined;
  const { rows, changeId = null } = done;
  if (!dryRun && changeId !== null) await notifyOnce(db, { table: 'forgotten', userId, changeId });
  return {
    code: rows.some(({ unknown }) => unknown) ? EXIT.NO : EXIT.DONE,
    json: { userId, table: list.name, dryRun, rows, changeId },
    text: describe(list, rows, dryRun),
  };
}

function describe(list: ListCollection, rows: Forgetting['rows'], dryRun: boolean): string {
  const lines = rows.map(({ parent, key, already, unknown, ...erased }) => {
    const name = printable(`${list.name} ${parent === '' ? '' : `${parent}:`}${key}`);
    if (unknown) return `${name}: not found; nothing is recorded`;
    const what =
      `${countOf(erased.rows, 'row')}, ${countOf(erased.versions, 'version')}, ${countOf(erased.events, 'event')}, ` +
      `${countOf(erased.quarantined, 'item')} in quarantine, ${countOf(erased.submissions, 'submission')}`;
    const rest = already ? 'it was already forgotten' : 'it will not be mirrored again';
    return `${name}: ${what} ${dryRun ? 'would be' : 'were'} erased; ${rest}`;
  });
  return lines.join('\n');
}

async function remember(_: Shell, db: Db, named: NamedRows) {
  const found = await rememberRows(db, named, await operatorOn(db));
  if (found === undefined) return undefined;
  const rows = named.rows.map((row, index) => ({ ...row, wasForgotten: found[index] === true }));
  const remembered = found.filter(Boolean).length;
  return {
    code: found.includes(false) ? EXIT.NO : EXIT.DONE,
    json: { userId: named.userId, table: named.list.name, undo: true, rows },
    text:
      remembered === 0
        ? 'none of these rows was forgotten: nothing changed'
        : `${countOf(remembered, 'row')} may be mirrored again; the next full walk, due now, reads what the service still has`,
  };
}

/** Lists what is forgotten, the newest first. */
async function keptOut(shell: Shell, db: Db, userId: string | null) {
  const { rows } = await db.sql<Record<'userId' | 'collection' | 'keyHash' | 'changeId' | 'forgottenAt', string>>`
    select f._user_id as "userId", f.collection, encode(f.key_hash, 'hex') as "keyHash", f._change_id as "changeId",
      to_char(f.forgotten_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "forgottenAt"
    from ${db.table('forgotten')} as f where f._user_id = coalesce(${userId}::bigint, f._user_id)
    order by f.forgotten_at desc, f._user_id, f.collection, f.key_hash`;
  const cells = rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'changeId')));
  const table = formatList(cells, widthOfTerminal(shell.out));
  return { code: EXIT.DONE, json: { rows }, text: `${table}${countOf(rows.length, 'row')}` };
}

/** Rows of an account by their keys. `parent` is the list that an item belongs to; '' outside lists. */
export interface NamedRows {
  readonly userId: string;
  readonly list: ListCollection;
  readonly rows: readonly Readonly<Record<'parent' | 'key', string>>[];
}

export type Forgetting = NonNullable<Awaited<ReturnType<typeof forgetRows>>>;

/**
 * Erases rows wherever they are, in one transaction, and records hashes of their keys, so that no page and no event
 * brings them back. Readers of the watermark learn of it by a hash's change ID. The account is taken from its daemon,
 * which has the rows in memory.
 * @param options `dryRun` rolls everything back
 * @returns `already`: forgotten before; `unknown`: nothing was found or recorded; `changeId`: the watermark of the last
 * recorded row. Undefined: there is no such account
 */
export async function forgetRows(
  db: Db,
  options: NamedRows & { readonly dryRun: boolean; readonly monotonic: () => number; readonly by: Operator },
) {
  const { userId, list, rows, dryRun, monotonic, by } = options;
  return db.transaction(async (trx) => {
    await trx.raw('savepoint untouched');
    // A crash must not bring erased rows back.
    await commitDurably(trx);
    const current = await takeFromOwner(trx, userId);
    if (current === undefined) return undefined;
    const { at, floor } = onlyRow(
      await trx.sql<{ at: Date; floor: string }>`
        select clock_timestamp() as at, coalesce((select change_floor from ${trx.stateTable('installation')}), 0) as floor`,
    );
    beginChangeIds(trx, { now: BigInt(at.getTime()) * 1000n, floor: BigInt(floor), current, monotonic });
    const done = [];
    const hashes: string[] = [];
    for (const { parent, key } of rows) {
      const scope = { userId, collection: list.name, parent };
      const already = (await forgottenAmong(trx, scope, [{ key }])).keys.has(key);
      const erased = await eraseRow(trx, list, scope, key, at);
      const unknown = !already && Object.values(erased).every((count) => count === 0);
      done.push({ parent, key, ...erased, already, unknown });
      const hash = forgottenHash(scope, key);
      if (!unknown) hashes.push(hash);
      if (already || unknown) continue;
      const changeId = (await takeChangeIds(trx, userId, 1)) + 1n;
      await trx.sql`
        insert into ${trx.table('forgotten')} (_user_id, collection, key_hash, _change_id, forgotten_at)
        values (${userId}::bigint, ${list.name}, decode(${hash}, 'hex'),
          ${String(changeId)}::bigint, ${at}::timestamptz)`;
    }
    if (hashes.length > 0) await logAct(trx, by, { act: 'forget', userId, given: { table: list.name, hashes } });
    if (dryRun) await trx.raw('rollback to savepoint untouched');
    return { rows: done, changeId: endChangeIds(trx)?.toString() };
  });
}

/** As a takeover, without a new owner. @returns the account's change_id; undefined: there is no such account */
async function takeFromOwner(trx: Db, userId: string): Promise<bigint | undefined> {
  const { rows } = await trx.sql<{ changeId: string }>`
    update ${trx.stateTable('account')} set token = token + 1, owner = null where _user_id = ${userId}::bigint
    returning change_id as "changeId"`;
  return rows[0] && BigInt(rows[0].changeId);
}

/**
 * Lets rows be mirrored again, by a full walk that is due at once.
 * @returns for each whether it was forgotten; undefined: there is no such account
 */
export async function rememberRows(db: Db, named: NamedRows, by: Operator) {
  const { userId, list, rows } = named;
  const hashes = rows.map(({ parent, key }) => forgottenHash({ userId, collection: list.name, parent }, key));
  return db.transaction(async (trx) => {
    if ((await takeFromOwner(trx, userId)) === undefined) return undefined;
    const { rows: found } = await trx.sql<{ hash: string; at: Date }>`
      delete from ${trx.table('forgotten')}
      where _user_id = ${userId}::bigint and collection = ${list.name} and key_hash = any(array(
        select decode(x.hash, 'hex') from unnest(${hashes}::text[]) as x (hash)))
      returning encode(key_hash, 'hex') as hash, clock_timestamp() as at`;
    if (found[0] !== undefined) {
      await trx.sql`
        update ${trx.table('_collections')} set next_full_at = ${found[0].at}::timestamptz
        where _user_id = ${userId}::bigint and collection = ${list.name}`;
      const given = { table: list.name, hashes: found.map(({ hash }) => hash) };
      await logAct(trx, by, { act: 'forget --undo', userId, given });
    }
    return hashes.map((hash) => found.some((row) => row.hash === hash));
  });
}

/** Erased rows (deleted ones, too), versions, events, items in quarantine; submissions with emptied contents. */
type Erased = Record<'rows' | 'versions' | 'events' | 'quarantined' | 'submissions', number>;

/** Erases a row, its versions, a list's items, and what is known of it elsewhere. @param at the database's time */
async function eraseRow(trx: Db, list: ListCollection, scope: Scope, key: string, at: Date): Promise<Erased> {
  const { userId } = scope;
  const erased: Erased = { rows: 0, versions: 0, events: 0, quarantined: 0, submissions: 0 };
  await eraseCounted(trx, scope, key, erased);
  for (const { name } of childrenOf(list.name))
    await eraseCounted(trx, { userId, collection: name, parent: key }, undefined, erased);
  for (const { table, which, set, count } of placesOf(trx, list, scope, key, at)) {
    const { numAffectedRows } = await (set === undefined
      ? trx.sql`delete from ${table} as t where t._user_id = ${userId}::bigint and ${which}`
      : trx.sql`update ${table} as t set ${set} where t._user_id = ${userId}::bigint and ${which}`);
    if (count !== undefined) erased[count] += Number(numAffectedRows);
  }
  // Finished commands to the daemon, whose answers show rows. They belong to no account.
  await trx.sql`
    delete from ${trx.stateTable('command')} as c
    where c.done_at is not null and strpos(concat(c.arguments, c.progress, c.result), ${JSON.stringify(key)}) > 0`;
  return erased;
}

/** Rows, versions and suspected deletions, with their counters. @param key undefined: the whole scope */
async function eraseCounted(trx: Db, scope: Scope, key: string | undefined, erased: Erased): Promise<void> {
  const table = tableOf(trx.schema, scope.collection);
  const one = key === undefined ? sql`true` : sql`${keyColumn(table)} = ${key}::${keyTypeName(table)}`;
  const which = sql`${inParent(table, scope)} and ${one}`;
  const { rows } = await trx.sql<{ live: boolean }>`
    delete from ${dataTable(table)} as t where t._user_id = ${scope.userId}::bigint and ${which}
    returning t._deleted_at is null as live`;
  const { numAffectedRows } = await trx.sql`
    delete from ${dataTable(table, '_history')} as t where t._user_id = ${scope.userId}::bigint and ${which}`;
  const live = rows.filter((row) => row.live).length;
  if (rows.length > 0) await countRows(trx, scope, -live, live - rows.length);
  await trx.sql`
    update ${trx.stateTable('scope')} as s set live_rows = s.live_rows - ${live}::bigint
    where s._user_id = ${scope.userId}::bigint and ${ofScope('s', scope)}`;
  await forgetSuspects(trx, scope, key === undefined ? 'all' : [key]);
  erased.rows += rows.length;
  erased.versions += Number(numAffectedRows);
}

/**
 * Other places of a row: a condition on a table's rows `t`, which are deleted, or changed by `set`. IDs of events stay,
 * to recognize a late repetition; a submission's ID, times and `idempotency_key` stay, so that it is not sent again.
 */
function placesOf(
  trx: Db,
  list: ListCollection,
  scope: Scope,
  key: string,
  at: Date,
): readonly (Record<'table' | 'which', RawBuilder<unknown>> & {
  readonly set?: RawBuilder<unknown>;
  readonly count?: keyof Erased;
})[] {
  const { keyField, name, parent } = list;
  const here = ofScope('t', scope);
  const items = sql`t.collection = any(${childrenOf(name).map((child) => child.name)}::text[])`;
  const ofItems = sql`${items} and t.parent = ${key}`;
  const known = sql`(${here} and t.key = ${key} or ${ofItems})`;
  // The scope is read again in full if it learnt from pages with the row.
  const learnt = sql`strpos(t.memory::text || coalesce(t.full_walk::text, ''), ${JSON.stringify(key)}) > 0`;
  // JSON names it at any depth: by `job_id`, `bulk_job_id` and `list_id` anywhere; by `id` only in events about the
  // watchlist or the list.
  const telling = keyField !== 'id';
  const about = sql`t._collection = ${parent?.collection ?? name} and ${scope.parent} in ('', t._key)`;
  // A number equals itself in any spelling; a key that is no number equals none.
  const values = `{"n": ${/^-?\d{1,19}$/.test(key) ? key : 'null'}, "s": ${JSON.stringify(key)}}`;
  const path = `$.**."${keyField}" ? (@ == $n || @ == $s)`;
  const named = (json: RawBuilder<unknown>): RawBuilder<unknown> =>
    sql`coalesce(jsonb_path_exists(${json}, ${path}::jsonpath, ${values}::text::jsonb, true), false)`;
  const operation = Object.keys(TARGETS).find((each) => TARGETS[each] === name) ?? null;
  const target = sql`t.operation = ${operation} and t.target_id = ${key}`;
  const waits = sql`t.state in ('queued', 'held')`;
  return [
    { table: trx.table('quarantine'), which: known, count: 'quarantined' },
    { table: trx.table('quarantine'), which: sql`${here} and t.place = ${key}`, set: sql`place = null` },
    { table: trx.stateTable('unsettled'), which: known },
    { table: trx.stateTable('hint'), which: known },
    { table: trx.stateTable('scope'), which: ofItems },
    { table: trx.table('sync_log'), which: sql`${items} and t.list_id::text = ${key}` },
    {
      table: trx.table('_collections'),
      which: sql`t.collection = ${name} and exists (
        select 1 from ${trx.stateTable('scope')} as t where t._user_id = ${scope.userId}::bigint and ${here} and ${learnt})`,
      set: sql`next_full_at = ${at}::timestamptz`,
    },
    {
      table: trx.stateTable('scope'),
      which: sql`${here} and ${learnt}`,
      // The page size stays: without it, a list of one row may look unfinished.
      set: sql`full_walk = null, memory = coalesce(('{"limit":' || (t.memory #>> '{limit}') || '}')::jsonb, '{}')`,
    },
    {
      table: trx.table('events'),
      which: sql`(t._collection = ${name} and t._key = ${key} or (${telling} or ${about}) and ${named(sql`t._raw`)})`,
      count: 'events',
    },
    {
      table: trx.table('submissions'),
      which: sql`(${target} or ${telling} and (${named(sql`t.payload`)} or ${named(sql`t.response`)}))`,
      set: sql`payload = '{}', response = null, error = null, _verbatim = null,
        target_id = case when ${target} then null else t.target_id end,
        state = case when ${waits} then 'cancelled' else t.state end,
        done_at = case when ${waits} then ${at}::timestamptz else t.done_at end`,
      count: 'submissions',
    },
  ];
}
