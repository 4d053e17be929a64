import { forgetRows, type Forgetting, type NamedRows, rememberRows } from '../../app/forget/forget-rows.ts';
import { recordedRows } from '../../app/forget/recorded-rows.ts';
import { loadConfig } from '../../config/load.ts';
import { type Database, openDatabase } from '../../db/connection/database.ts';
import type { Db } from '../../db/connection/db.ts';
import { listAccounts } from '../../db/accounts/stored-accounts.ts';
import { notifyOnce } from '../../db/notify/notifications.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { onMigratedMirror } from '../steps/migrated-mirror.ts';
import { refuseOptions } from '../steps/choose-action.ts';
import { askPerson } from '../terminal/ask-person.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { type Shell, widthOfTerminal } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { describeForgotten, describeRecorded } from './forget-text.ts';
import { chooseTable, readRowName } from './row-names.ts';

interface GivenOptions {
  readonly user?: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly undo?: boolean;
  readonly list?: boolean;
  readonly json?: boolean;
  readonly demo?: boolean;
}

/** An account's events are looked through, and a list may have many items. Less than readers look back for. */
const BOUNDS = { statement: 50_000, idle: 5_000 };

/** What `forget` does. */
export async function forgetAction(
  shell: Shell,
  table: string | undefined,
  keys: string[],
  options: GivenOptions,
): Promise<ExitCode> {
  const config = loadConfig(shell.env, 'database');
  const named = namedOn(table, keys, options);
  const which = options.demo === true ? 'demo' : 'likely';
  return onMigratedMirror(shell, config, { command: 'forget', which }, async ({ reached }) => {
    const { schema } = config;
    const patient: Database = await openDatabase({
      ...reached.connection,
      schema,
      max: 1,
      bounds: BOUNDS,
    });
    try {
      const { db } = patient;
      if (named === undefined) return await list(shell, db, options);
      const rows = { ...named, userId: await chooseUser(db, options.user) };
      return await (options.undo === true ? remember : forget)(shell, db, rows, options);
    } finally {
      await patient.close();
    }
  });
}

/** @throws UsageError */
function namedOn(
  table: string | undefined,
  keys: readonly string[],
  options: GivenOptions,
): Omit<NamedRows, 'userId'> | undefined {
  if (options.list === true) {
    if (table !== undefined) throw new UsageError('--list goes without a table');
    refuseOptions('forget --list', options, ['yes', 'dryRun', 'undo']);
    return undefined;
  }
  if (options.undo === true) refuseOptions('forget --undo', options, ['yes', 'dryRun']);
  if (table === undefined) throw new UsageError('forget what? A table and keys, or --list');
  const found = chooseTable(table);
  if (keys.length === 0) throw new UsageError(`forget ${table}: which rows? Their keys follow`);
  return { list: found, rows: keys.map((key) => readRowName(found, key)) };
}

/** @throws UsageError where it is not clear which account is meant */
async function chooseUser(db: Db, given: string | undefined): Promise<string> {
  if (given !== undefined) {
    if (!/^-?\d{1,18}$/.test(given))
      throw new UsageError(`--user: ${JSON.stringify(given)} is no user_id: a number`);
    return given;
  }
  const [first, second] = await listAccounts(db);
  if (first === undefined) throw new UsageError('no account is mirrored here');
  if (second === undefined) return first.userId;
  throw new UsageError('several accounts are mirrored here: --user says of which one; "accounts" lists them');
}

async function forget(shell: Shell, db: Db, named: NamedRows, options: GivenOptions): Promise<ExitCode> {
  const { userId, list: table } = named;
  const run = (dryRun: boolean): Promise<Forgetting | undefined> =>
    forgetRows(db, { ...named, dryRun, monotonic: () => shell.clock.monotonic() });
  if (options.yes !== true && options.dryRun !== true) {
    const would = await run(true);
    if (would === undefined) return noAccount(shell, userId);
    shell.err.write(shell.scrubber.scrub(describeForgotten(table.name, would.rows, true)));
    if (!(await askPerson(shell, 'Erase it for good?', 'forget'))) {
      shell.err.write('nothing was erased\n');
      return EXIT.NO;
    }
  }
  const dryRun = options.dryRun === true;
  const done = await run(dryRun);
  if (done === undefined) return noAccount(shell, userId);
  const { rows, changeId } = done;
  if (!dryRun && changeId !== undefined) await notifyOnce(db, { table: 'forgotten', userId, changeId });
  shell.out.write(
    shell.scrubber.scrub(
      options.json === true
        ? `${JSON.stringify({ userId, table: table.name, dryRun, rows, changeId: changeId ?? null })}\n`
        : describeForgotten(table.name, rows, dryRun),
    ),
  );
  return rows.some(({ unknown }) => unknown) ? EXIT.NO : EXIT.DONE;
}

async function remember(shell: Shell, db: Db, named: NamedRows, { json }: GivenOptions): Promise<ExitCode> {
  const found = await rememberRows(db, named);
  if (found === undefined) return noAccount(shell, named.userId);
  const rows = named.rows.map((row, index) => ({ ...row, wasForgotten: found[index] === true }));
  const count = found.filter(Boolean).length;
  shell.out.write(
    json === true
      ? `${JSON.stringify({ userId: named.userId, table: named.list.name, undo: true, rows })}\n`
      : `${countOf(count, 'row')} may be mirrored again: what the service has comes with the next full walk, which is due now\n`,
  );
  return count === found.length ? EXIT.DONE : EXIT.NO;
}

async function list(shell: Shell, db: Db, { user, json }: GivenOptions): Promise<ExitCode> {
  const recorded = await recordedRows(db, user);
  shell.out.write(
    json === true
      ? `${JSON.stringify({ rows: recorded })}\n`
      : describeRecorded(recorded, widthOfTerminal(shell.out)),
  );
  return EXIT.DONE;
}

function noAccount(shell: Shell, userId: string): ExitCode {
  shell.err.write(
    `research-mirror: there is no account ${userId} here: "research-mirror accounts" lists them\n`,
  );
  return EXIT.NO;
}
