import type { RetriedCollection, RetryReport } from '../app/quarantine.ts';
import { listQuarantine, quarantinedTexts } from '../app/quarantine-list.ts';
import { loadConfig } from '../config/load.ts';
import { suggestion } from '../config/suggestion.ts';
import { openDatabase } from '../db/database.ts';
import { pendingMigrations } from '../db/migrate.ts';
import { MIGRATIONS } from '../app/program-files.ts';
import { COLLECTION_NAMES, type CollectionName } from '../model/collections.ts';
import { Unusable } from '../model/errors.ts';
import { chooseCollections } from './choose-collections.ts';
import { examples, type AddCommand } from './command.ts';
import { loadEngine } from './engine.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { makeLog } from './log.ts';
import { reachMirror } from './mirror-database.ts';
import { Progress } from './progress.ts';
import { describeQuarantine, describeRetry, retryingLine } from './quarantine-text.ts';
import { widthOfTerminal, type Shell } from './shell.ts';
import { UsageError } from './usage-error.ts';

interface QuarantineOptions {
  readonly show?: string;
  readonly limit?: string;
  readonly json?: boolean;
  readonly demo?: boolean;
}

const ACTIONS = ['list', 'retry'];
const USUAL_LIMIT = 100;

export const addQuarantine: AddCommand = (program, run) => {
  program
    .command('quarantine')
    .summary('items that could not be mirrored: list them, show them, try them again')
    .description(
      'Items that could not be mirrored are kept verbatim, with the reason. list tells them, the newest first; retry ' +
        'writes them again without a request to the service, for example when a constraint that refused them is gone, ' +
        'and ends with 1 when some still can’t be mirrored. Beside a running daemon, the daemon retries.',
    )
    .argument('[action]', 'list or retry', 'list')
    .argument('[collection...]', `only of these (${COLLECTION_NAMES.join(', ')})`)
    .option('--show <id>', 'print one item as the service sent it')
    .option('--limit <n>', `how many to list (${USUAL_LIMIT})`)
    .option('--json', 'as JSON on stdout')
    .option('--demo', "the demo's mirror, when there is one of your own too; for list")
    .addHelpText(
      'after',
      examples([
        ['research-mirror quarantine', 'what is there, and why'],
        ['research-mirror quarantine list --show 3f786850e387550f', 'one of them, verbatim'],
        ['research-mirror quarantine retry research_jobs', 'try those of one collection again'],
      ]),
    )
    .action(
      run(async (shell, action: string, names: string[], options: QuarantineOptions) => {
        if (!ACTIONS.includes(action)) {
          const near = suggestion(action, ACTIONS);
          throw new UsageError(
            `quarantine can't ${JSON.stringify(action)}${near}: there are ${ACTIONS.join(' and ')}`,
          );
        }
        const collections = chooseCollections(names);
        if (action === 'list') return list(shell, collections ?? COLLECTION_NAMES, options);
        const foreign = (['show', 'limit', 'demo'] as const).filter((name) => options[name] !== undefined);
        if (foreign.length > 0)
          throw new UsageError(`quarantine retry has no option --${foreign.join(', --')}`);
        return retry(shell, collections, options.json ?? false);
      }),
    );
};

async function list(
  shell: Shell,
  collections: readonly CollectionName[],
  { show, limit, json = false, demo = false }: QuarantineOptions,
): Promise<ExitCode> {
  const most = limit === undefined ? USUAL_LIMIT : Number(limit);
  if (!/^[1-9]\d{0,8}$/.test(limit ?? '1')) throw new UsageError('--limit: must be a number from 1 up');
  if (show !== undefined && !/^[0-9a-f]{4,64}$/i.test(show)) {
    throw new UsageError('--show: takes an ID as "quarantine list" tells it, or its first 4 digits or more');
  }
  const config = loadConfig(shell.env, 'database');
  const { schema } = config;
  const reached = await reachMirror(config, shell, {
    program: 'research-mirror quarantine',
    which: demo ? 'demo' : 'likely',
    log: makeLog(config, shell, shell.err, 'warn'),
  });
  try {
    const database = await openDatabase({ ...reached.connection, max: 1 });
    const { kysely: db } = database;
    try {
      const behind = await pendingMigrations({ db, schema, folder: MIGRATIONS });
      if (behind.length > 0) {
        throw new Unusable(
          `the database is behind this program (${behind.join(', ')}): "research-mirror migrate"`,
        );
      }
      if (show !== undefined) return showItem(shell, await quarantinedTexts(db, schema, show), show, json);
      const listed = await listQuarantine(db, schema, collections, most);
      const text = json
        ? `${JSON.stringify(listed, undefined, 2)}\n`
        : describeQuarantine(listed, widthOfTerminal(shell.out));
      shell.out.write(shell.scrubber.scrub(text));
      return EXIT.DONE;
    } finally {
      await database.close();
    }
  } finally {
    await reached.leave();
  }
}

/** Verbatim, but for keys and secrets of ours that a service may have sent back. */
function showItem(shell: Shell, texts: readonly string[], id: string, json: boolean): ExitCode {
  const [text, other] = texts;
  if (text === undefined || other !== undefined) {
    const what = text === undefined ? 'no item' : 'more than one item';
    shell.err.write(`research-mirror: there is ${what} in quarantine whose ID begins with ${id}\n`);
    return EXIT.NO;
  }
  shell.out.write(shell.scrubber.scrub(`${json ? JSON.stringify({ item: text }) : text}\n`));
  return EXIT.DONE;
}

async function retry(
  shell: Shell,
  collections: readonly CollectionName[] | undefined,
  json: boolean,
): Promise<ExitCode> {
  const config = loadConfig(shell.env, 'service');
  const { runRetry } = await loadEngine();
  const progress = new Progress(shell);
  const retried = new Map<string, RetriedCollection>();
  let report: RetryReport;
  try {
    report = await runRetry(config, {
      collections: collections ?? COLLECTION_NAMES,
      signal: shell.signal,
      log: makeLog(config, shell, shell.err, 'warn'),
      hide: (secret) => shell.scrubber.hide(secret),
      scrub: (text) => shell.scrubber.scrub(text),
      onProgress: (each) => {
        retried.set(`${each.userId}/${each.collection}`, each);
        progress.show(retryingLine(retried.values()));
      },
    });
  } finally {
    progress.end();
  }
  const text = json ? `${JSON.stringify(report)}\n` : describeRetry(report, widthOfTerminal(shell.out));
  shell.out.write(shell.scrubber.scrub(text));
  for (const { key, error } of report.unknownKeys) {
    shell.err.write(shell.scrubber.scrub(`research-mirror: API key ${key}…: ${error}\n`));
  }
  if (report.unknownKeys.length > 0 || report.collections.some(({ error }) => error !== null)) {
    return EXIT.FAILED;
  }
  return report.collections.some(({ left }) => left.length > 0) ? EXIT.NO : EXIT.DONE;
}
