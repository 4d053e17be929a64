import { countOf } from '@research-mirror/runtime/figures';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Config, ServiceConfig } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { InvalidConfig } from '../config/parse-values.ts';
import { LISTENER_ANSWER, whyAstray } from '../events/public-url.ts';
import { readDsn } from '../postgres/dsn.ts';
import { EXIT, type ExitCode, UsageError } from '../terminal/exit-code.ts';
import { readUserId } from '../terminal/given.ts';
import { workOptions } from '../terminal/open-mirror.ts';
import type { Shell } from '../terminal/shell.ts';
import { printable } from '../terminal/text-table.ts';
import { DATABASE_CHECKS } from './check-database.ts';
import { ACCOUNT_CHECKS, SERVICE_CHECKS } from './check-service.ts';
import {
  broken,
  type Check,
  type CheckState,
  type Context,
  type DoctorOptions,
  type Findings,
  judgeVersion,
  type NamedFinding,
  ok,
  openContext,
  runChecks,
} from './check.ts';

/** Of a name in Postgres. */
const MOST_NAME_BYTES = 63;

interface DoctorFlags {
  readonly sql?: boolean;
  readonly json?: boolean;
  readonly reader?: string;
  readonly account?: string;
}

/** What `doctor` does. */
export async function doctorAction(
  shell: Shell,
  { sql = false, json = false, reader, account }: DoctorFlags,
): Promise<ExitCode> {
  if (sql && json) throw new UsageError('--sql prints SQL: it has no --json');
  if ((reader === undefined) !== (account === undefined) || (reader !== undefined && !sql))
    throw new UsageError('a login that reads one account: doctor --sql --reader NAME --account USER_ID');
  if (sql) {
    const config = loadConfig(shell.env, 'database');
    const bound = reader === undefined || account === undefined ? undefined : readerOf(reader, account);
    shell.out.write(
      bound === undefined ? scriptFor(config) : script('reader.sql', { schema: config.schema, ...bound }),
    );
    return EXIT.DONE;
  }
  const checks = await lookAround(shell);
  const text = json ? `${JSON.stringify({ checks }, undefined, 2)}\n` : describeChecks(checks);
  shell.out.write(shell.scrubber.scrub(text));
  if (checks.some(({ check, state }) => check === 'configuration' && state === 'broken')) return EXIT.USAGE;
  const has = (state: CheckState): boolean => checks.some((each) => each.state === state);
  return has('broken') ? EXIT.NO : has('unknown') ? EXIT.FAILED : EXIT.DONE;
}

async function lookAround(shell: Shell): Promise<readonly NamedFinding[]> {
  try {
    const config = loadConfig(shell.env, 'service');
    return await runDoctor(config, workOptions(shell, config));
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error;
    const mend = { remedy: 'mend that variable, in the environment or in .env' };
    return error.problems.map((problem) => ({ check: 'configuration', ...broken(problem, mend) }));
  }
}

/** A line for each finding, and one that counts. */
export function describeChecks(checks: readonly NamedFinding[]): string {
  const widest = Math.max(...checks.map(({ check }) => check.length));
  const lines = checks.map(
    (each) => `${each.state.padEnd('warning'.length)}  ${each.check.padEnd(widest)}  ${describe(each)}\n`,
  );
  const count = (state: CheckState): number => checks.filter((each) => each.state === state).length;
  const [isBroken, warnings, unknown] = [count('broken'), count('warning'), count('unknown')];
  const sum = [`${isBroken} broken`, countOf(warnings, 'warning'), `${unknown} not found out`];
  const counted = sum.filter((each) => !each.startsWith('0 ')).join(', ');
  return `${lines.join('')}${counted === '' ? 'all fine' : counted}\n`;
}

/** What was found; behind the arrow what to do, and what to type there. */
function describe({ found, remedy, command, sql }: NamedFinding): string {
  const run = command === null ? sql && `psql> ${sql}` : `$ ${command}`;
  const todo = [remedy, run].filter((part) => part !== null).join(': ');
  return `${printable(found)}${todo === '' ? '' : ` → ${printable(todo)}`}`;
}

/**
 * What a DBA runs for this configuration: dba.sql, below psql's variables that it needs. Login and database are those of
 * DATABASE_URL; without it (or what it leaves out) `<schema>_owner` and `<schema>`. Asks no database.
 */
function scriptFor({ database, schema }: Config): string {
  const dsn = database.kind === 'external' ? readDsn(database.url.reveal(), database.variables()) : undefined;
  const variables = {
    schema,
    owner: dsn?.user ?? `${schema}_owner`,
    database: dsn?.database ?? dsn?.user ?? schema,
  };
  return script('dba.sql', variables);
}

/** @throws UsageError */
function readerOf(reader: string, account: string): Readonly<Record<string, string>> {
  const bytes = Buffer.byteLength(reader);
  if (bytes < 1 || bytes > MOST_NAME_BYTES || reader.includes('\0'))
    throw new UsageError(`a login's name has 1 to ${MOST_NAME_BYTES} bytes`);
  return { reader, account: readUserId(account, '--account: ') };
}

/** A script for psql, below the variables that it needs. */
function script(name: string, variables: Readonly<Record<string, string>>): string {
  const set = Object.entries(variables).map(([of, value]) => `\\set ${of} ${psqlText(value)}\n`);
  return `${set.join('')}\n${readFileSync(new URL(name, import.meta.url), 'utf8')}`;
}

/** A text as an argument of a command of psql's: there backslashes escape, and only a line break ends it. */
function psqlText(text: string): string {
  const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', "'": "''", '\n': '\\n', '\r': '\\r' };
  return `'${text.replaceAll(/[\\'\n\r]/g, (unit) => escapes[unit] ?? unit)}'`;
}

const UPDATE_NODE =
  'put an up-to-date Node 24 or newer on the PATH, which then runs the program; in a container: build the image again, on a new base image';

/** Milliseconds that all checks may take. An embedded server may have to start, after a crash recover. */
const BOUND_MS = 20_000;
const BOUND_WITH_START_MS = 60_000;

/** Everything that `start` needs, in the order in which it rests on each other. */
const CHECKS: readonly Check[] = [
  {
    name: 'configuration',
    run: async ({ config }) => ok(`valid; ${countOf(config.service.keys.length, 'key')}`),
  },
  { name: 'node', run: async () => judgeVersion('Node', process.versions.node, UPDATE_NODE) },
  ...SERVICE_CHECKS,
  ...DATABASE_CHECKS,
  ...ACCOUNT_CHECKS,
  { name: 'public_url', run: publicUrl },
];

/**
 * Looks at everything that `start` needs, side by side, and changes nothing: no row, no request but a ping for each
 * key, and reading its endpoints. An embedded server that is stopped is started meanwhile, as by any command.
 * @throws the signal's reason
 */
export async function runDoctor(
  config: ServiceConfig,
  options: DoctorOptions,
): Promise<readonly NamedFinding[]> {
  const context = await openContext(config, options);
  try {
    return await runChecks(CHECKS, context, context.server === 'stopped' ? BOUND_WITH_START_MS : BOUND_MS);
  } finally {
    await context.close();
  }
}

/** Whether the public URL leads to this daemon's listener: to the one that runs, else to doctor's own in its place. */
async function publicUrl({ config, signal }: Context): Promise<Findings> {
  const { publicUrl: url, host, port } = config.webhook;
  if (url === undefined) return [];
  // So that no other program's answer is taken for ours.
  const reply = randomBytes(16).toString('hex');
  const own = createServer((_, response) => void response.setHeader('content-type', 'text/plain').end(reply));
  try {
    const isOwn = await once(own.listen(port, host), 'listening').then(
      () => true,
      () => false,
    );
    const place = `${host}:${isOwn ? (own.address() as AddressInfo).port : port}`;
    const astray = await whyAstray(url, place, isOwn ? reply : LISTENER_ANSWER, signal);
    signal.throwIfAborted();
    if (astray === undefined) return ok(`${url} leads to ${place}, seen from here`);
    return broken(astray.found, { remedy: astray.remedy });
  } finally {
    own.close();
    own.closeAllConnections();
  }
}
