#!/usr/bin/env node
// The launcher: plain JavaScript for any Node from 18 on. The machine's Node runs the program if it is new enough, since
// its owner patches it; otherwise the pinned one does (docs/decisions/0001-pinned-runtime.md).
//
// The program is the bundle, if it was made of these sources (docs/decisions/0014-a-bundle-for-what-is-shipped.md);
// otherwise the sources are run as they are.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
// As a whole: an older Node lacks some of it.
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
/** Signals that end a program and that can be passed on. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const EXIT_USAGE = 2;

const { main, cache, needs } = chooseProgram();
const node = chooseNode();
const youngIsSet = /semi-space/.test(`${process.execArgv.join(' ')} ${process.env['NODE_OPTIONS'] ?? ''}`);
if (!needs.every(resolved)) {
  refuse(`its packages are not installed. Run "npm ci" in ${root}`);
} else if (node === undefined) {
  refuse(
    `it needs Node ${OLDEST_NODE} or newer, and this is ${process.version} on ${process.platform}-${process.arch}. ` +
      `Put a newer Node on the PATH, or run "npm ci" in ${root}, which brings Node 26 as an optional dependency (do not ` +
      'pass --omit=optional). On Windows, use WSL2 or Docker.',
  );
} else if (node === process.execPath && (youngIsSet || realpathSync(process.argv[1]) !== self)) {
  // The image sets by NODE_OPTIONS what can't be set later. A program that imports this file stays this process.
  setFlagsFromString(OLD_HEAP);
  module.enableCompileCache(cache);
  await import(pathToFileURL(main).href);
} else {
  run(node);
}

/** The program's first file, the folder of V8's compile cache, and the packages that it needs to be loaded. */
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
      'research-mirror: dist/program was built from other sources, so the sources run unbuilt. Run "npm run build".\n',
    );
  }
  return sources;
}

/**
 * The machine's Node if it is new enough, otherwise the pinned one. `npm start` and `npx` put node_modules/.bin with the
 * pinned one first on the PATH: the machine's runs npm, or is further down the PATH.
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

/** NaN if it does not run. */
function majorOf(node) {
  if (node === process.execPath) return parseInt(process.versions.node, 10);
  const options = { encoding: 'utf8', timeout: 5_000, stdio: ['ignore', 'pipe', 'ignore'] };
  return parseInt(spawnSync(node, ['-p', 'process.versions.node'], options).stdout, 10);
}

function refuse(why) {
  process.stderr.write(`research-mirror can't start: ${why}\n`);
  process.exitCode = EXIT_USAGE;
}

/** Path of a package's file; undefined if it is not installed. */
function resolved(name) {
  try {
    return realpathSync(require.resolve(name));
  } catch {
    return undefined;
  }
}

/** Runs the program on `node`, from Node 22.15 and 23.11 on in place of this process, which takes 43 MB. */
function run(node) {
  const young = youngIsSet ? [] : [YOUNG_HEAP];
  // Another Node may not know this one's options.
  const given = node === process.execPath ? process.execArgv : [];
  // Node 24 calls some of what the program uses an experiment.
  const args = [...young, OLD_HEAP, '--disable-warning=ExperimentalWarning', ...given, main];
  args.push(...process.argv.slice(2));
  const env = { NODE_COMPILE_CACHE: cache, ...ARENAS, ...process.env, RESEARCH_MIRROR_LAUNCHER: '1' };
  if (typeof process.execve === 'function') process.execve(node, [node, ...args], env);
  else runBeside(node, args, env);
}

/** Runs it as a child with the same streams: passes signals on, and ends as it does. */
function runBeside(node, args, env) {
  // The channel breaks when this process is killed with SIGKILL, which can't be passed on: the program then ends, too.
  const child = spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], env });
  // Ctrl-C on a terminal reaches the program directly, too: it takes the two for one.
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    if (child.pid === undefined) refuse(`${node} does not run: ${error.message}`);
  });
  child.on('exit', (code, signal) => {
    // A shell's code, in case the signal does not end this process.
    process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0);
    for (const each of SIGNALS) process.removeAllListeners(each);
    if (signal !== null) process.kill(process.pid, signal);
  });
}
