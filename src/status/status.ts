import { MIGRATIONS, programVersion } from '../config/program.ts';
import { CELL_COLUMNS } from '../model/collection-columns.ts';
import { whatIsMissing } from '../postgres/inspection.ts';
import { neededMigrations } from '../postgres/run-migrations.ts';
import { type Mirror, onMirror } from '../terminal/open-mirror.ts';
import { EXIT, type Options, type Shell, widthOfTerminal } from '../terminal/shell.ts';
import { formatList, printable } from '../terminal/text-table.ts';
import { noFacts, readWorkload, statusReport } from './collect-status.ts';
import { problemLine } from './problem.ts';
import { judge, unreadyDatabase } from './problems.ts';
import { whyReadOnly } from './readiness.ts';
import { accountFacts, age, cellWords, deletionWords, processWords } from './status-report.ts';
import type { AccountStatus, StatusReport } from './status-report.ts';

export async function statusAction(shell: Shell, { json = false, demo = false }: Options<'json' | 'demo'>) {
  const now = new Date(shell.clock.now());
  const options = { demo, anyVersion: true };
  const report = await onMirror(shell, 'status', options, (mirror) => readStatus(mirror, now));
  const text = json ? `${JSON.stringify(report, undefined, 2)}\n` : describeStatus(report, widthOfTerminal(shell.out));
  shell.out.write(shell.scrubber.scrub(text));
  return report.healthy ? EXIT.DONE : EXIT.NO;
}

async function readStatus({ config, db, words }: Mirror, now: Date): Promise<StatusReport> {
  const pending = await neededMigrations({ db, folder: MIGRATIONS, version: programVersion() });
  if (pending.length > 0) {
    const what = `the database is older than this program: it lacks the migrations ${pending.join(', ')}`;
    return judge(noFacts(config, words, now), [{ cause: 'database_behind', what }]);
  }
  const missing = await whatIsMissing(db, MIGRATIONS, false);
  if (missing !== undefined) return judge(noFacts(config, words, now), [unreadyDatabase(missing)]);
  const unready = await whyReadOnly(db);
  const workload = await readWorkload(db, config);
  return statusReport({ config, db, words, accounts: undefined, workload, unready });
}

/** The report for people. @param width of the terminal; undefined: nothing is cut */
export function describeStatus(report: StatusReport, width: number | undefined): string {
  const { at } = report;
  const deletions = report.deletions.map((each) => {
    const { userId, collection, remedy, examples } = each;
    const words = [
      `${userId}/${collection}: ${deletionWords(each, at)}`,
      ...(examples.length === 0 ? [] : [`Examples: ${examples.join(', ')}`]),
      ...(remedy === null ? [] : [`Fix: ${remedy}`]),
    ];
    return `  ${printable(words.join('. '))}\n`;
  });
  const errors = report.errors.map((each) => `  ${age(each.at, at)}  ${each.where}  ${printable(each.message)}\n`);
  return [
    `${report.healthy ? 'healthy' : 'NOT HEALTHY'} · ${report.database} · schema ${report.schema}\n`,
    ...report.problems.map((each) => `  problem: ${printable(problemLine(each, Date.parse(at)))}\n`),
    ...report.notes.map((note) => `  note: ${printable(note)}\n`),
    ...report.processes
      .filter(({ alive }) => alive)
      .map((each) => `  running: ${printable(processWords(each, report))}\n`),
    ...report.accounts.map((account) => describeAccount(account, at, width)),
    ...(deletions.length > 0 ? ['\npending deletions\n', ...deletions] : []),
    ...(errors.length > 0 ? ['\nlast errors\n', ...errors] : []),
  ].join('');
}

function describeAccount(account: AccountStatus, at: string, width: number | undefined): string {
  const { userId, email, state, collections } = account;
  const who = email === null ? userId : `${userId} (${printable(email)})`;
  const rows = collections.map((each) => ({
    collection: each.collection,
    state: each.state,
    ...Object.fromEntries(CELL_COLUMNS.map((column) => [column.cell.short, cellWords(column, each, at)])),
    '': each.lastError && `${age(each.lastErrorAt, at)}: ${each.lastError}`,
  }));
  const facts = accountFacts(account, at).map(([name, words]) => `  ${name}: ${printable(words)}\n`);
  return `\naccount ${who}${state === 'active' ? '' : `, ${state.toUpperCase()}`}\n${formatList(rows, width)}${facts.join('')}`;
}
