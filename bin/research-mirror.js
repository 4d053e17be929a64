#!/usr/bin/env node
// The launcher: plain JavaScript for any Node from 18 on, since the machine's own may be older than what the program
// needs. A Node of the machine's that is new enough runs the program, since its owner patches it; else the pinned one
// does; where there is neither, one sentence says what to do. Decision record: docs/decisions/0001-pinned-runtime.md
//
// The program is a bundle where there is one of just these sources: always in the package and in the image, which have
// no sources; in a checkout after `npm run build`, until a source changes. Otherwise the sources are run as they are.
// Decision record: docs/decisions/0014-a-bundle-for-what-is-shipped.md
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
// As a whole: an older Node has not all of it.
import module from 'node:module';
import { constants } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { ARENAS, OLD_HEAP, YOUNG_HEAP } from './heap.js';
import { sourceHash } from './source-hash.js';

const OLDEST_NODE = 24;
const require = module.createRequire(import.meta.url);
const self = realpathSync(fileURLToPath(import.meta.url));
const root = dirname(dirname(self));
/** Signals that end a program and that can be handed on. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const EXIT_USAGE = 2;

const { main, cache, needs } = chooseProgram();
const node = chooseNode();
const youngIsSet = /semi-space/.test(`${process.execArgv.join(' ')} ${process.env['NODE_OPTIONS'] ?? ''}`);
if (!needs.every(resolved)) {
  refuse(`its packages are not installed: run "npm ci" in ${root}`);
} else if (node === undefined) {
  refuse(
    `it needs Node ${OLDEST_NODE} or newer, this is ${process.version} on ${process.platform}-${process.arch}: ` +
      `put a newer one on the PATH, or run "npm ci" in ${root} (it brings Node 26 as an optional dependency; do not ` +
      'pass --omit=optional). On Windows use WSL2 or Docker.',
  );
} else if (node === process.execPath && (youngIsSet || realpathSync(process.argv[1]) !== self)) {
  // The image sets by NODE_OPTIONS what can't be set later; this can. And who imports this file stays this process.
  setFlagsFromString(OLD_HEAP);
  module.enableCompileCache(cache);
  await import(pathToFileURL(main).href);
} else {
  run(node);
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

/**
 * The machine's Node where it is new enough, else the pinned one. `npm start` and `npx` put node_modules/.bin first on
 * the PATH, and with it the pinned one: the machine's is the one that runs npm, or one further down the PATH.
 */
function chooseNode() {
  const platform = `${process.platform}-${process.arch}`;
  const pinned = resolved(`node-${platform}/bin/node`) ?? resolved(`node-bin-${platform}/bin/node`);
  const onPath = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && !folder.endsWith(join('node_modules', '.bin')))
    .map((folder) => join(folder, 'node'));
  const tried = new Set([pinned]);
  for (const path of [process.execPath, process.env['npm_node_execpath'], ...onPath]) {
    const real = path === undefined || !existsSync(path) ? pinned : realpathSync(path);
    if (!tried.has(real) && majorOf(path) >= OLDEST_NODE) return path;
    tried.add(real);
  }
  return pinned;
}

/** NaN where it does not run. */
function majorOf(node) {
  if (node === process.execPath) return parseInt(process.versions.node, 10);
  const options = { encoding: 'utf8', timeout: 5_000, stdio: ['ignore', 'pipe', 'ignore'] };
  return parseInt(spawnSync(node, ['-p', 'process.versions.node'], options).stdout, 10);
}

/** One sentence with the remedy. */
function refuse(why) {
  process.stderr.write(`research-mirror can't start, ${why}\n`);
  process.exitCode = EXIT_USAGE;
}

/** Path of a package's file; undefined where it is not installed. */
function resolved(name) {
  try {
    return realpathSync(require.resolve(name));
  } catch {
    return undefined;
  }
}

/**
 * Runs the program on `node` as if it were this process. Where Node can (22.15, 23.11 and later) it becomes the program:
 * nothing stays beside it, neither 43 MB of memory nor somebody who hands signals on.
 */
function run(node) {
  const young = youngIsSet ? [] : [YOUNG_HEAP];
  // What this Node was given is for another one only where both are the same.
  const given = node === process.execPath ? process.execArgv : [];
  // Node 24 calls some of what the program uses an experiment, at first.
  const args = [...young, OLD_HEAP, '--disable-warning=ExperimentalWarning', ...given, main];
  args.push(...process.argv.slice(2));
  // What V8 makes of the program is kept; where it can't be written, it is made anew each time.
  const env = { NODE_COMPILE_CACHE: cache, ...ARENAS, ...process.env, RESEARCH_MIRROR_LAUNCHER: '1' };
  if (typeof process.execve === 'function') process.execve(node, [node, ...args], env);
  else runBeside(node, args, env);
}

/** Same streams, signals handed on, its end is ours. */
function runBeside(node, args, env) {
  // The channel is a lifeline: it breaks when this process is killed with SIGKILL, which can't be handed on, and the
  // program then ends as well. Without it a "killed" daemon would live on.
  const child = spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], env });
  // Ctrl-C on a terminal reaches the program by itself, too: it takes the two for one.
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    if (child.pid === undefined) refuse(`${node} does not run: ${error.message}`);
  });
  child.on('exit', (code, signal) => {
    // As a shell would say it, should the signal not end this process too.
    process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0);
    for (const each of SIGNALS) process.removeAllListeners(each);
    if (signal !== null) process.kill(process.pid, signal);
  });
}
