import { mirrorServer } from './mcp-server.ts';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { stdin, stdout } from 'node:process';
import { programVersion } from '../../app/program-files.ts';
import { loadConfig } from '../../config/load.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { untilAborted } from '@research-mirror/runtime/service';
import { StatementRefused, type ResultColumn } from '../../db/roles/read-only-query.ts';
import { askMirror, type RowPrinter } from '../sql/answer-query.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import type { Shell } from '../terminal/shell.ts';
import { formatCount } from '@research-mirror/runtime/figures';
import { UsageError } from '../terminal/usage-error.ts';

/** Characters of all values: what a model reads at once is bounded. */
const MOST_CHARACTERS = 200_000;

/** The first rows of an answer, in memory. */
class CollectedRows implements RowPrinter {
  readonly #limit: number;
  #names: readonly string[] = [];
  readonly #rows: (readonly (string | null)[])[] = [];
  #characters = 0;
  #more = false;

  /** @param limit most rows */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Values are in Postgres's own text form, with every digit. `more`: some rows were left out. */
  answer(): { readonly rows: readonly Readonly<Record<string, string | null>>[]; readonly more: boolean } {
    const rows = this.#rows.map((values) =>
      Object.fromEntries(values.map((value, index) => [this.#names[index] ?? '', value])),
    );
    return { rows, more: this.#more };
  }

  columns(columns: readonly ResultColumn[]): void {
    this.#names = columns.map(({ name }) => name);
  }

  row(values: readonly (string | null)[]): boolean {
    this.#characters += values.reduce((sum, value) => sum + (value?.length ?? 0), 0);
    this.#more = this.#rows.length === this.#limit || this.#characters > MOST_CHARACTERS;
    if (this.#more && this.#rows.length === 0) {
      throw new UsageError(
        `the first row alone has ${formatCount(this.#characters)} characters, and an answer may have ` +
          `${formatCount(MOST_CHARACTERS)}: choose fewer columns, or a part of a value: left(column, 1000)`,
      );
    }
    if (!this.#more) this.#rows.push(values);
    return !this.#more;
  }

  end(): void {}
}

/** Milliseconds of one query. */
const TIMEOUT = 60_000;

/** What `mcp` does. */
export async function mcpAction(shell: Shell, { demo = false }: { demo?: boolean }): Promise<ExitCode> {
  const config = loadConfig(shell.env, 'database');
  const ask = async (text: string, limit: number): Promise<string> => {
    const collected = new CollectedRows(limit);
    try {
      await askMirror(shell, config, { command: 'mcp', text, timeout: TIMEOUT, demo }, collected);
    } catch (error) {
      const hint = error instanceof StatementRefused && error.hint !== undefined ? ` (${error.hint})` : '';
      throw new Error(shell.scrubber.scrub(messageOf(error) + hint), { cause: error });
    }
    return JSON.stringify(collected.answer());
  };
  const closed = new Promise<void>((resolve) => {
    stdin.once('end', resolve).once('close', resolve);
    stdout.once('error', () => resolve());
  });
  const served = serveStdio(() => mirrorServer(programVersion(), config.schema, ask), {
    onerror: (error) => shell.err.write(shell.scrubber.scrub(`research-mirror: ${messageOf(error)}\n`)),
  });
  await Promise.race([closed, untilAborted(shell.signal)]);
  await served.close();
  return EXIT.DONE;
}
