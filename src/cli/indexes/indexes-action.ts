import { INDEXES_ACTIONS } from '../steps/action-names.ts';
import {
  listIndexes,
  createIndexes,
  dropIndexes,
  isKnownName,
  type IndexContext,
  type IndexOutcome,
} from '../../app/indexes/index-work.ts';
import { loadConfig } from '../../config/load.ts';
import { suggestion } from '../../config/suggestion.ts';
import { chooseAction, refuseOptions } from '../steps/choose-action.ts';
import { onMigratedMirror } from '../steps/migrated-mirror.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { type Shell, widthOfTerminal } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { describeIndexes, outcomeLine, sizeText } from './indexes-text.ts';

interface IndexesOptions {
  readonly all?: boolean;
  readonly json?: boolean;
  readonly demo?: boolean;
}

type Action = (typeof INDEXES_ACTIONS)[number];

/** What `indexes` does. */
export async function indexesAction(
  shell: Shell,
  given: string,
  names: string[],
  options: IndexesOptions,
): Promise<ExitCode> {
  const action = chooseAction('indexes', given, INDEXES_ACTIONS);
  checkNames(action, names, options);
  const config = loadConfig(shell.env, 'database');
  const which = options.demo === true ? 'demo' : 'likely';
  return onMigratedMirror(shell, config, { command: 'indexes', which }, async ({ db, reached }) => {
    const { database } = config;
    const direct = database.kind === 'external' && database.directUrl !== undefined;
    const unpooled = reached.server !== undefined || direct;
    const { clock, signal } = shell;
    const context = { db, direct: reached.direct, unpooled, clock, signal };
    return action === 'list' ? list(shell, context, options) : change(shell, context, action, names, options);
  });
}

/** @throws UsageError */
function checkNames(action: Action, names: readonly string[], { all, ...options }: IndexesOptions): void {
  if (action === 'list') {
    refuseOptions('indexes list', { ...options, ...(all === undefined ? {} : { all }) }, ['all']);
    if (names.length > 0) throw new UsageError('indexes list takes no name');
    return;
  }
  if ((all === true) === names.length > 0) {
    throw new UsageError(`indexes ${action}: name some, or say --all; "indexes list" shows them`);
  }
}

async function list(shell: Shell, { db }: IndexContext, { json }: IndexesOptions): Promise<ExitCode> {
  const indexes = await listIndexes(db);
  shell.out.write(
    json === true
      ? `${JSON.stringify({ indexes }, (key, value: unknown) => (key === 'optional' ? undefined : value))}\n`
      : describeIndexes(indexes, widthOfTerminal(shell.out)),
  );
  return EXIT.DONE;
}

async function change(
  shell: Shell,
  context: IndexContext,
  action: 'create' | 'drop',
  given: readonly string[],
  { json }: IndexesOptions,
): Promise<ExitCode> {
  const names = given.length === 0 ? undefined : [...new Set(given)];
  if (action === 'create' && names !== undefined) {
    const listed = await listIndexes(context.db);
    const wrong = names.find((name) => !isKnownName(context.db.schema, listed, name));
    if (wrong !== undefined) {
      const optional = listed.flatMap((each) => each.optional?.name ?? []);
      throw new UsageError(
        `there is no optional index ${JSON.stringify(wrong)}${suggestion(wrong, optional)}: "indexes list" shows them, ` +
          'and CREATE INDEX makes any other: nothing touches it',
      );
    }
  }
  const work = action === 'create' ? createIndexes : dropIndexes;
  const outcomes = await work(context, names, ({ name, expectedBytes }) => {
    const size = expectedBytes === null ? '' : `, some ${sizeText(expectedBytes)}`;
    shell.err.write(action === 'create' ? `making ${name}${size} …\n` : `dropping ${name} …\n`);
  });
  const text =
    json === true ? `${JSON.stringify({ indexes: outcomes })}\n` : outcomes.map(outcomeLine).join('');
  shell.out.write(shell.scrubber.scrub(text === '' ? 'there is none that "indexes create" made\n' : text));
  return exitCodeFor(outcomes);
}

function exitCodeFor(outcomes: readonly IndexOutcome[]): ExitCode {
  const some = (...kinds: readonly IndexOutcome['outcome'][]): boolean =>
    outcomes.some(({ outcome }) => kinds.includes(outcome));
  if (some('failed', 'busy')) return EXIT.FAILED;
  return some('taken', 'unknown') ? EXIT.NO : EXIT.DONE;
}
