import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtProgram, NODE_COMPILE_CACHE } from './built-programs.ts';
import { checkAnswer } from './json-answers.ts';
import { ROOT } from '../rules/source-files.ts';

/** What a user starts in a checkout. */
export const LAUNCHER = join(ROOT, 'bin', 'research-mirror.js');
/** The same program, made of the same sources. */
const BUILT = await builtProgram('main');

export interface Outcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<Outcome>;
  /** Resolves when stdout or stderr contains `text`. @throws when the program ends before that */
  until(text: string): Promise<void>;
  /** All that it has written so far, stdout before stderr. */
  output(): string;
}

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** `open`: the test writes into it. */
  readonly stdin?: 'open';
  /** Arguments for Node itself. */
  readonly nodeArguments?: readonly string[];
  /** Instead of the built program: the launcher, for example. */
  readonly script?: string;
}

/** Starts the program with a clean environment: nothing of the developer's own configuration reaches it. */
export function startProgram(args: readonly string[], options: ProgramOptions): Running {
  const { cwd, nodeArguments = [], script = BUILT } = options;
  const env = { PATH: process.env['PATH'], HOME: cwd, NODE_COMPILE_CACHE, ...options.env };
  const child = spawn(process.execPath, [...nodeArguments, script, ...args], { cwd, env, stdio: 'pipe' });
  if (options.stdin !== 'open') child.stdin.end();
  let stdout = '';
  let stderr = '';
  const watchers = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (stderr += text));
  for (const stream of [child.stdout, child.stderr]) stream.on('data', () => watchers.forEach((watcher) => watcher()));
  const ended = new Promise<Outcome>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      const [command = ''] = args;
      // Every answer of every test, unless its reader left, or another program gave it.
      const isWhole = stdout !== '' && child.stdout.readableEnded && options.script === undefined;
      try {
        if (isWhole && args.includes('--json')) checkAnswer(command, JSON.parse(stdout));
        resolve({ code, signal, stdout, stderr });
      } catch (error) {
        reject(error);
      }
    });
  });
  return {
    child,
    ended,
    output: () => stdout + stderr,
    until: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!stdout.includes(text) && !stderr.includes(text)) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
        void ended.then(() => reject(new Error(`ended without ${JSON.stringify(text)}:\n${stdout}${stderr}`)));
      }),
  };
}

/** Runs the program to its end. */
export function runProgram(args: readonly string[], options: ProgramOptions): Promise<Outcome> {
  return startProgram(args, options).ended;
}

/** A folder of its own to run in: no `.env`, no data. */
export function makeFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'research-mirror-test-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Whether it has ended. */
export function hasEnded({ child }: Running): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Programs that run in one folder of their own. */
export class Programs {
  readonly #folder = makeFolder();
  readonly #running = new Set<Running>();
  /** Where they run: their `.env` and their data would be here. */
  readonly cwd = this.#folder.path;

  start(args: readonly string[], env: Readonly<Record<string, string>>): Running {
    const program = startProgram(args, { cwd: this.cwd, env });
    this.#running.add(program);
    void program.ended.finally(() => this.#running.delete(program));
    return program;
  }

  /** Kills what still runs, and removes their folder. */
  async close(): Promise<void> {
    for (const { child } of this.#running) child.kill('SIGKILL');
    await Promise.all([...this.#running].map(({ ended }) => ended));
    this.#folder.remove();
  }
}

/** Environment of a program that mirrors one account and is the only user of its key. */
export function accountEnv(databaseUrl: string, service: { readonly url: string; readonly key: string }) {
  return {
    DATABASE_URL: databaseUrl,
    MIRROR_API_URL: service.url,
    MIRROR_API_KEY: service.key,
    MIRROR_BUDGET_SHARE: '1',
    MIRROR_HTTP_PORT: '0',
  };
}
