import { join } from 'node:path';
import type { Plugin } from 'rolldown';

/** Of others' packages what the program runs: their own first file brings all they have, most of it for nobody. */
interface Lean {
  /** What is imported. */
  readonly source: string;
  /** By whom: part of a path. Left out: by anybody but the package itself. */
  readonly importer?: string;
  /** The module that comes instead. What it lacks and somebody imports stops the build. */
  readonly text: string;
}

/** Functions that nobody calls; who does is told. */
const NEVER = `module.exports = function () { throw new Error('left out of the bundle: build/lean-packages.ts'); };`;

const LEAN: readonly Lean[] = [
  {
    // Imported, all of its names are read, and with `WebSocket` Node's own undici, HTTP/2 and TLS are loaded: 19 MB and
    // 60 ms of processor time. So it is never `import`ed; `require` reads what is asked for.
    source: 'node:http',
    text: `export const { Agent, createServer, request } = process.getBuiltinModule('node:http');`,
  },
  {
    // Without fetch, caches, WebSockets and mocks, which are nine tenths of it.
    source: 'undici',
    text: `import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
      import request from 'undici/lib/api/api-request.js';
      Dispatcher.prototype.request = request;
      export { default as Agent } from 'undici/lib/dispatcher/agent.js';
      export { default as EnvHttpProxyAgent } from 'undici/lib/dispatcher/env-http-proxy-agent.js';`,
  },
  // `allowH2: false`; and no body of ours is a form.
  { source: './client-h2.js', importer: '/undici/', text: NEVER },
  { source: '../web/fetch/body.js', importer: '/undici/', text: NEVER },
  // The parser that is tried out: it is off unless UNDICI_MILO… says otherwise.
  { source: './parser-h1.js', importer: '/undici/', text: `exports.getMiloEnabled = () => false;` },
  {
    // Without the gateway, and without what many processes of one program need.
    source: '@prometheus-io/client',
    text: `export { default as Counter } from '@prometheus-io/client/lib/counter.js';
      export { default as Gauge } from '@prometheus-io/client/lib/gauge.js';
      export { default as Histogram } from '@prometheus-io/client/lib/histogram.js';
      export { default as Registry } from '@prometheus-io/client/lib/registry.js';
      export { default as collectDefaultMetrics } from '@prometheus-io/client/lib/defaultMetrics.js';`,
  },
  // Lines are written directly (packages/runtime/src/logger.ts): without workers.
  { source: './lib/transport', importer: '/pino/', text: NEVER },
  { source: './transport', importer: '/pino/', text: NEVER },
  { source: 'pino-abstract-transport', importer: '/pino-pretty/', text: NEVER },
  { source: './build-safe-sonic-boom.js', importer: '/pino-pretty/', text: NEVER },
  { source: 'worker_threads', importer: '/pino/', text: `module.exports = { isMainThread: true };` },
];

const PREFIX = '\0lean:';
/** Where packages are found. */
const FROM = join(import.meta.dirname, '..', 'src', 'main.ts');

/**
 * Brings the parts alone: half of what a bundle would load, and keep in memory.
 * @throws Error at the build's end for an entry that nobody imports any more
 */
export function leanPackages(): Plugin {
  const used = new Set<Lean>();
  return {
    name: 'lean packages',
    resolveId(source, importer, { kind }) {
      if (source.startsWith(PREFIX)) return source;
      // What is required of Node itself is not read as a whole: it stays what it is.
      if (importer === undefined || (kind === 'require-call' && source.startsWith('node:'))) return undefined;
      const index = LEAN.findIndex(
        (each) =>
          each.source === source &&
          (each.importer === undefined ? !importer.startsWith(PREFIX) : importer.includes(each.importer)),
      );
      const found = LEAN[index];
      if (found === undefined) return importer.startsWith(PREFIX) ? this.resolve(source, FROM) : undefined;
      used.add(found);
      return `${PREFIX}${index}`;
    },
    load(id) {
      if (!id.startsWith(PREFIX)) return undefined;
      return LEAN[Number(id.slice(PREFIX.length))]?.text;
    },
    buildEnd(error) {
      const idle = LEAN.filter((each) => !used.has(each));
      if (error === undefined && idle.length > 0) {
        throw new Error(`nobody imports ${idle.map(({ source }) => source).join(', ')} any more`);
      }
    },
  };
}
