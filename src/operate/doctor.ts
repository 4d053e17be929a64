/** `doctor`: what keeps the mirror from working, by checks that change nothing; `--sql`: what a DBA has to run. */

import { countOf } from '@research-mirror/runtime/figures';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadConfig } from '../config/load.ts';
import { InvalidConfig } from '../config/parse-values.ts';
import { LISTENER_ANSWER, whyAstray } from '../events/public-url.ts';
import { readDsn } from '../postgres/dsn.ts';
import { readUserId } from '../terminal/given.ts';
import { workOptions } from '../terminal/open-mirror.ts';
import { EXIT, type Options, type Shell, UsageError } from '../terminal/shell.ts';
import { printable } from '../terminal/text-table.ts';
import { DATABASE_CHECKS } from './check-database.ts';
import { ACCOUNT_CHECKS, SERVICE_CHECKS } from './check-service.ts';
import { broken, judgeVersion, ok, openContext, runChecks } from './check.ts';
import type { Check, Context, NamedFinding } from './check.ts';

/** Postgres's limit of a name. */
const MOST_NAME_BYTES = 63;

export async function doctorAction(shell: Shell, options: Options<'sql' | 'json', 'reader' | 'account'>) {
  const { sql = false, json = false, reader, account } = options;
  if (sql && json) throw new UsageError("--sql and --json can't be used together");
  if ((reader === undefined) !== (account === undefined) || (reader !== undefined && !sql))
    throw new UsageError(
      'use --reader and --account together, with --sql: doctor --sql --reader NAME --account USER_ID',
    );
  if (sql) {
    const { database, schema } = loadConfig(shell.env, 'database');
    if (reader !== undefined && account !== undefined) {
      const bytes = Buffer.byteLength(reader);
      if (bytes < 1 || bytes > MOST_NAME_BYTES || reader.includes('\0'))
        throw new UsageError(`--reader: a login's name must have 1 to ${MOST_NAME_BYTES} bytes`);
      shell.out.write(script('reader.sql', { schema, reader, account: readUserId(account, '--account: ') }));
      return EXIT.DONE;
    }
    // Login and database are those of DATABASE_URL. No database is asked.
    const dsn = database.kind === 'external' ? readDsn(database.url.reveal(), database.variables()) : undefined;
    const owner = dsn?.user ?? `${schema}_owner`;
    shell.out.write(script('dba.sql', { schema, owner, database: dsn?.database ?? dsn?.user ?? schema }));
    return EXIT.DONE;
  }
  const checks = await runDoctor(shell);
  const text = json ? `${JSON.stringify({ checks }, undefined, 2)}\n` : describeChecks(checks);
  shell.out.write(shell.scrubber.scrub(text));
  if (checks.some(({ check, state }) => check === 'configuration' && state === 'broken')) return EXIT.USAGE;
  const has = (state: NamedFinding['state']): boolean => checks.some((each) => each.state === state);
  return has('broken') ? EXIT.NO : has('unknown') ? EXIT.FAILED : EXIT.DONE;
}

/** Milliseconds for all checks. An embedded server that is not running has to start, and may have to recover. */
const BOUND_MS = 20_000;
const BOUND_WITH_START_MS = 60_000;

/**
 * Checks everything that `start` needs and changes nothing. A stopped embedded server runs meanwhile, as for any
 * command.
 * @throws the signal's reason
 */
async function runDoctor(shell: Shell): Promise<readonly NamedFinding[]> {
  try {
    const config = loadConfig(shell.env, 'service');
    const context = await openContext(config, workOptions(shell, config));
    try {
      return await runChecks(CHECKS, context, context.server === 'stopped' ? BOUND_WITH_START_MS : BOUND_MS);
    } finally {
      await context.close();
    }
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error;
    const mend = { remedy: 'fix that variable in the environment or in .env' };
    return error.problems.map((problem) => ({ check: 'configuration', ...broken(problem, mend) }));
  }
}

/** One line for each finding, `found → remedy: $ command`, and a line with their counts. */
export function describeChecks(checks: readonly NamedFinding[]): string {
  const widest = Math.max(...checks.map(({ check }) => check.length));
  const lines = checks.map(({ check, state, found, remedy, command, sql }) => {
    const run = command === null ? sql && `psql> ${sql}` : `$ ${command}`;
    const todo = [remedy, run].filter((part) => part !== null).join(': ');
    const told = `${printable(found)}${todo === '' ? '' : ` → ${printable(todo)}`}`;
    return `${state.padEnd('warning'.length)}  ${check.padEnd(widest)}  ${told}\n`;
  });
  const count = (state: NamedFinding['state']) => checks.filter((each) => each.state === state).length;
  const [isBroken, warnings, unknown] = [count('broken'), count('warning'), count('unknown')];
  const sum = [`${isBroken} broken`, countOf(warnings, 'warning'), `${unknown} unknown`];
  const counted = sum.filter((each) => !each.startsWith('0 ')).join(', ');
  return `${lines.join('')}${counted === '' ? 'all fine' : counted}\n`;
}

/** A psql script, preceded by its variables. */
function script(name: string, variables: Readonly<Record<string, string>>): string {
  const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', "'": "''", '\n': '\\n', '\r': '\\r' };
  // Arguments of psql's commands: backslashes escape, and only a line break ends them.
  const quoted = (text: string) => `'${text.replaceAll(/[\\'\n\r]/g, (unit) => escapes[unit] ?? unit)}'`;
  const set = Object.entries(variables).map(([of, value]) => `\\set ${of} ${quoted(value)}\n`);
  return `${set.join('')}\n${readFileSync(new URL(name, import.meta.url), 'utf8')}`;
}

const UPDATE_NODE =
  'put an up-to-date Node 24 or newer on the PATH (the program then uses it); in a container, rebuild the image on a new base image';

/** In the order in which they depend on each other. */
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

/** Whether the public URL leads to the daemon's listener. If no daemon listens, doctor listens in its place. */
async function publicUrl({ config, signal }: Context) {
  const { publicUrl: url, host, port } = config.webhook;
  if (url === undefined) return [];
  // Distinguishes our answer from another program's.
  const reply = randomBytes(16).toString('hex');
  const own = createServer((_, response) => void response.setHeader('content-type', 'text/plain').end(reply));
  try {
    const isOwn = (await once(own.listen(port, host), 'listening').catch(() => undefined)) !== undefined;
    const place = `${host}:${isOwn ? (own.address() as AddressInfo).port : port}`;
    const astray = await whyAstray(url, place, isOwn ? reply : LISTENER_ANSWER, signal);
    signal.throwIfAborted();
    if (astray === undefined) return ok(`${url} leads to ${place}, as seen from here`);
    return broken(astray.found, { remedy: astray.remedy });
  } finally {
    own.close();
    own.closeAllConnections();
  }
}
