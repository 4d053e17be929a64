import { countOf } from '@research-mirror/runtime/figures';
import { COLLECTIONS, type ListCollection } from '../model/collections.ts';
import { readKey } from '../model/key.ts';
import { listAccounts } from '../postgres/accounts.ts';
import type { Db } from '../postgres/db.ts';
import { notifyOnce } from '../postgres/notifications.ts';
import { operatorOn } from '../postgres/operator-log.ts';
import { noneOf, readUserId, refuseOptions } from '../terminal/given.ts';
import { onMirror } from '../terminal/open-mirror.ts';
import { askPerson, complain, EXIT, say, UsageError, widthOfTerminal } from '../terminal/shell.ts';
import type { Options, Shell } from '../terminal/shell.ts';
import { formatList, printable } from '../terminal/text-table.ts';
import { type Forgetting, forgetRows, type NamedRows, rememberRows } from './forget-rows.ts';

type ForgetOptions = Options<'yes' | 'dryRun' | 'undo' | 'list' | 'json' | 'demo', 'user'>;

/** In ms: all events of an account are searched, and a list may have many items. Less than readers look back. */
const BOUNDS = { statement: 50_000, idle: 5_000 };

export async function forgetAction(
  shell: Shell,
  table: string | undefined,
  keys: string[],
  options: ForgetOptions,
) {
  const { list, undo, user, demo } = options;
  if (list === true && table !== undefined) throw new UsageError('--list goes without a table');
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
      complain(shell, `there is no account ${rows?.userId} here: "research-mirror accounts" lists them`);
      return EXIT.NO;
    }
    say(shell, options.json === true ? JSON.stringify(answer.json) : answer.text);
    return answer.code;
  });
}

/** @throws UsageError, with suggestions */
function readNames(table: string | undefined, keys: readonly string[]): Omit<NamedRows, 'userId'> {
  if (table === undefined) throw new UsageError('forget what? A table and keys, or --list');
  if (table === 'account') {
    throw new UsageError('an account is not forgotten by a key: "accounts retire USER_ID --remove-data"');
  }
  const lists = COLLECTIONS.filter((each) => each.kind === 'list');
  const names = lists.map(({ name }) => name);
  const list = lists.find(({ name }) => name === table);
  if (list === undefined) throw noneOf(names, table, 'forget has no table');
  if (keys.length === 0) throw new UsageError(`forget ${table}: which rows? Their keys follow`);
  return { list, rows: keys.map((key) => readRow(list, key)) };
}

/** Reads a key in the form of `changes` and the views; an item of a list is `LIST:ID`. @throws UsageError */
function readRow({ name, keyType, parent }: ListCollection, given: string): NamedRows['rows'][number] {
  const colon = parent === undefined ? -1 : given.indexOf(':');
  const list = parent && readKey(parent.keyType, JSON.stringify(given.slice(0, Math.max(colon, 0))));
  const item = readKey(keyType, JSON.stringify(given.slice(colon + 1)));
  if ('key' in item && (list === undefined || 'key' in list))
    return { parent: list?.key ?? '', key: item.key };
  const wanted = parent === undefined ? keyType : 'the list and the item, as in 7:abc';
  throw new UsageError(`${JSON.stringify(given)} is no key of ${name}: ${wanted}`);
}

/** @throws UsageError unless exactly one account is mirrored */
async function onlyAccount(db: Db): Promise<string> {
  const [first, second] = await listAccounts(db);
  if (first === undefined) throw new UsageError('no account is mirrored here');
  if (second === undefined) return first.userId;
  throw new UsageError('several accounts are mirrored here: --user says of which one; "accounts" lists them');
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
    if (unknown) return `${name}: nothing of it is here; nothing is recorded`;
    const what =
      `${countOf(erased.rows, 'row')}, ${countOf(erased.versions, 'version')}, ${countOf(erased.events, 'event')}, ` +
      `${countOf(erased.quarantined, 'item')} in quarantine, ${countOf(erased.submissions, 'submission')}`;
    const rest = already ? 'it was forgotten before' : 'it is not mirrored again';
    return `${name}: ${what} ${dryRun ? 'would be' : 'were'} erased; ${rest}`;
  });
  return lines.join('\n');
}

async function remember(_: Shell, db: Db, named: NamedRows) {
  const found = await rememberRows(db, named, await operatorOn(db));
  if (found === undefined) return undefined;
  const rows = named.rows.map((row, index) => ({ ...row, wasForgotten: found[index] === true }));
  const count = countOf(found.filter(Boolean).length, 'row');
  return {
    code: found.includes(false) ? EXIT.NO : EXIT.DONE,
    json: { userId: named.userId, table: named.list.name, undo: true, rows },
    text: `${count} may be mirrored again: what the service has comes with the next full walk, which is due now`,
  };
}

/** Lists what is forgotten, the newest first. */
async function keptOut(shell: Shell, db: Db, userId: string | null) {
  const { rows } = await db.sql<
    Record<'userId' | 'collection' | 'keyHash' | 'changeId' | 'forgottenAt', string>
  >`
    select f._user_id as "userId", f.collection, encode(f.key_hash, 'hex') as "keyHash", f._change_id as "changeId",
      to_char(f.forgotten_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "forgottenAt"
    from ${db.table('forgotten')} as f where f._user_id = coalesce(${userId}::bigint, f._user_id)
    order by f.forgotten_at desc, f._user_id, f.collection, f.key_hash`;
  const cells = rows.map(({ userId, collection, keyHash, forgottenAt }) => ({
    userId,
    collection,
    keyHash,
    forgottenAt,
  }));
  const table = formatList(cells, widthOfTerminal(shell.out));
  return { code: EXIT.DONE, json: { rows }, text: `${table}${countOf(rows.length, 'row')}` };
}
