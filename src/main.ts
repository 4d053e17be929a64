import { systemClock } from '@research-mirror/runtime/clock';
import { Scrubber } from '@research-mirror/runtime/scrub';
import { Stopped } from '@research-mirror/runtime/service';
import { EXIT, failureText, interrupts, OutputClosed, type Terminal, wholeOutput } from './terminal/shell.ts';

// argv, signals, exit code: only this file touches the process.

/** A longer stop (ms) is aborted; the contract is 8 s. Nothing is lost by it: invariant 1. */
const STOP_BOUND = 8_000;

const stopping = new AbortController();
const scrubber = new Scrubber();
const judge = interrupts();

function stop(reason: Stopped): void {
  const which = judge(performance.now());
  if (which === 'again') process.exit(EXIT.INTERRUPTED);
  if (which === 'same') return;
  stopping.abort(reason);
  setTimeout(() => process.exit(EXIT.INTERRUPTED), STOP_BOUND).unref();
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => stop(new Stopped('research-mirror')));
}

let failed = false;
const out = watched(process.stdout);
const err = watched(process.stderr);

/** Stops the program when `stream` takes no more output. */
function watched(stream: NodeJS.WriteStream & { readonly fd: number }): Terminal {
  const onError = (error: NodeJS.ErrnoException): void => {
    // A reader that has seen enough (`… | head -1`) or a closed terminal is no failure; a full disk is one.
    if (stream.isTTY !== true && error.code !== 'EPIPE' && error.code !== 'ECONNRESET') {
      if (!failed && stream === process.stdout) {
        process.stderr.write(`research-mirror: the output can't be written: ${error.message}\n`);
      }
      failed = true;
    }
    if (!stopping.signal.aborted) stop(new OutputClosed());
  };
  stream.on('error', onError);
  return wholeOutput(stream, onError);
}

// Unexpected errors and unhandled rejections stop the program like a signal: an immediate exit would leave the embedded
// PostgreSQL running.
process.on('uncaughtException', (error) => {
  const stack = /^(debug|trace)$/i.test(process.env['LOG_LEVEL'] ?? '');
  process.stderr.write(scrubber.scrub(failureText(error, stack)));
  if (failed || stopping.signal.aborted) process.exit(EXIT.FAILED);
  failed = true;
  stopping.abort(new Stopped('research-mirror'));
  setTimeout(() => process.exit(EXIT.FAILED), STOP_BOUND).unref();
});

// The launcher's lifeline: SIGKILL for the launcher is meant for this program.
if (process.env['RESEARCH_MIRROR_LAUNCHER'] !== undefined) {
  delete process.env['RESEARCH_MIRROR_LAUNCHER'];
  // Node has read it; other programs started from here do not need it.
  delete process.env['NODE_COMPILE_CACHE'];
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.channel?.unref();
}

// Loaded only now, since it takes longer than all the rest: a signal meanwhile finds its handler. Process 1 of a
// container would ignore it otherwise, and be killed when its grace is over.
const { runCommandLine } = await import('./cli/run.ts');
const code = await runCommandLine(process.argv.slice(2), {
  env: process.env,
  out,
  err,
  signal: stopping.signal,
  clock: systemClock,
  scrubber,
});
// The result of the last write arrives a turn later.
await new Promise((resolve) => setImmediate(resolve));
await Promise.all([process.stdout, process.stderr].map(written));
process.exit(failed ? EXIT.FAILED : code);

/** Resolves when everything written to `stream` has gone, or never will. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0 || stream.destroyed) resolve();
    else stream.write('', () => resolve());
  });
}
