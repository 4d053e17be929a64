import { InvalidValue } from '../../config/invalid.ts';
import { loadConfig } from '../../config/load.ts';
import { parseDuration } from '../../config/values/parse-values.ts';
import { StatementRefused } from '../../db/roles/read-only-query.ts';
import type { Options } from '../definitions/definition.ts';
import { EXIT, OutputClosed, UsageError, type ExitCode } from '../terminal/exit-code.ts';
import { type Shell, roomIn } from '../terminal/shell.ts';
import { askMirror, explainRefusal } from './answer-query.ts';
import { csvRows, jsonRows, tableRows } from './row-printers.ts';

const FORMATS = ['csv', 'json', 'vertical'] as const;

export async function sqlAction(
  shell: Shell,
  text: string,
  options: Options<'csv' | 'json' | 'vertical' | 'demo', 'timeout'>,
): Promise<ExitCode> {
  if (text.trim() === '') throw new UsageError('the query is empty');
  const { out, signal } = shell;
  const [format, other] = FORMATS.filter((each) => options[each] === true);
  if (other !== undefined) throw new UsageError(`--${format} and --${other} exclude each other`);
  let printer = tableRows(shell, format === 'vertical');
  if (format === 'csv') printer = csvRows(out);
  if (format === 'json') printer = jsonRows(out);
  const { timeout: given = '60s', demo = false } = options;
  const asked = { command: 'sql', text, timeout: readTimeout(given), demo };
  const room = (): Promise<void> | undefined => roomIn(out, signal);
  try {
    await askMirror(shell, loadConfig(shell.env, 'database'), asked, { ...printer, room });
    printer.end();
    return EXIT.DONE;
  } catch (error) {
    // The reader has what it wanted.
    if (error instanceof OutputClosed) return EXIT.DONE;
    if (!(error instanceof StatementRefused)) throw error;
    shell.err.write(shell.scrubber.scrub(explainRefusal(error, text)));
    return EXIT.NO;
  }
}

/** `--timeout` in milliseconds. @throws UsageError */
function readTimeout(text: string): number {
  try {
    return parseDuration('1ms')(text);
  } catch (error) {
    if (error instanceof InvalidValue) throw new UsageError(`--timeout: ${error.message}`);
    throw error;
  }
}
