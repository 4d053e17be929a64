import { describe, expect, it } from 'vitest';
import { sourceFiles, type SourceFile } from './support/rules/source-files.ts';

/**
 * The tree is the diagram: who may import whom, and why. Everyone in src may import model, everyone the workspace
 * runtime. A folder or workspace that is missing here fails the test: say in one line what may live there, then add it.
 */
const MAY_IMPORT: Record<string, { folders: readonly string[]; why: string }> = {
  model: { folders: [], why: 'the shared words are pure and know nobody' },
  runtime: { folders: [], why: 'no domain words: it could serve any daemon' },
  config: { folders: [], why: 'environment is read once, before anything else exists' },
  budget: { folders: [], why: 'it declares the store it needs; db implements it, app joins them' },
  api: { folders: ['budget'], why: 'no request without a reserved slot' },
  walk: { folders: [], why: 'algorithms: data in, decision out; readers and writers never meet' },
  db: { folders: ['budget'], why: 'implements the store that budget declares; knows no collection' },
  mirror: { folders: ['db'], why: 'makes a page true in Postgres; knows no HTTP and no walk' },
  sync: {
    folders: ['api', 'budget', 'schedule', 'walk', 'mirror', 'db'],
    why: 'the one joint of reading and writing',
  },
  commands: { folders: ['db'], why: 'requests that a command leaves for the daemon, in Postgres' },
  schedule: { folders: ['config'], why: 'pure: cron lines and moments in, next runs out' },
  webhooks: {
    folders: [],
    why: 'an edge: what it stores and knows it gets as functions; db implements them',
  },
  status: { folders: [], why: 'an edge: it shows what app gives it' },
  submit: { folders: ['api', 'budget'], why: 'an edge: it sends what a store that app gives it has queued' },
  sandbox: { folders: [], why: 'the emulated service must not share the code that it tests' },
  'embedded-postgres': { folders: [], why: 'it starts a server, and knows nothing of what is in it' },
  cli: {
    folders: ['app', 'config', 'sandbox', 'embedded-postgres', 'db'],
    why: 'an edge: words of the command line to calls of app; its small commands ask the database themselves',
  },
  app: {
    folders: [
      'config',
      'budget',
      'api',
      'walk',
      'db',
      'mirror',
      'sync',
      'commands',
      'schedule',
      'status',
      'webhooks',
      'submit',
      'embedded-postgres',
    ],
    why: 'the composition root joins everything but the command line and the sandbox',
  },
  main: { folders: ['cli'], why: 'argv, signals, exit code' },
};

const WORKSPACES = new Set(['runtime', 'sandbox', 'embedded-postgres']);
/** Files of a folder at most, its tests not counted, and tests at most: what a reader takes in at a glance. */
const MOST_FILES = 25;

/** Of a file: over that it holds two concepts. */
const MOST_LINES = 400;

const files = [...sourceFiles('src'), ...sourceFiles('packages')];
const production = files.filter(({ path }) => !path.endsWith('.test.ts') && !path.includes('/testing/'));

describe('the architecture', () => {
  it('lets each folder import only what its place in the data’s way allows', () => {
    const wrong = production.flatMap((file) => {
      const from = folderOf(file.path);
      const rule = MAY_IMPORT[from];
      if (rule === undefined) return [`${file.path}: folder ${from} is not in the diagram`];
      return file.imports
        .filter((path) => /^(src|packages)\//.test(path))
        .filter((path) => {
          const to = folderOf(path);
          const shared = to === 'runtime' || (to === 'model' && !WORKSPACES.has(from));
          return to !== from && !shared && !rule.folders.includes(to);
        })
        .map((path) => `${file.path} imports ${path}: ${from} may not (${rule.why})`);
    });
    expect(wrong).toEqual([]);
  });

  it('has no import cycle', () => {
    expect(cycleIn(production)).toBeUndefined();
  });

  it('lets one place read the environment and one touch the process', () => {
    const environment = production.filter(
      (file) =>
        /\bprocess\.env\b/.test(withoutComments(file.text)) && !/^src\/(config\/|main\.ts)/.test(file.path),
    );
    expect(environment.map((file) => file.path)).toEqual([]);
    const process = production.filter(
      (file) =>
        /\bprocess\.(exit\b|exitCode|argv|on\(|once\()/.test(withoutComments(file.text)) &&
        file.path !== 'src/main.ts',
    );
    expect(process.map((file) => file.path)).toEqual([]);
  });

  it('keeps pg in db, HTTP clients in api, p-queue in budget, node-cron in schedule', () => {
    const homes: Record<string, RegExp> = {
      pg: /^(src\/db|packages\/embedded-postgres\/src)\//,
      undici: /^src\/api\//,
      'p-queue': /^src\/budget\//,
      'node-cron': /^src\/(schedule|config)\//,
      '@prometheus-io/client': /^src\/status\//,
      commander: /^src\/cli\//,
    };
    const strays = production.flatMap((file) =>
      file.imports
        .filter((name) => homes[name] !== undefined && homes[name]?.test(file.path) !== true)
        .map((name) => `${file.path} imports ${name}`),
    );
    expect(strays).toEqual([]);
  });

  it('keeps clocks and randomness given, not taken', () => {
    const takers = production.filter(
      (file) =>
        /\b(Date\.now\(|new Date\(\)|Math\.random\(|performance\.now\(|setTimeout\(|setInterval\()/.test(
          withoutComments(file.text),
        ) && !['packages/runtime/src/clock.ts', 'src/main.ts'].includes(file.path),
    );
    expect(takers.map((file) => file.path)).toEqual([]);
  });

  it('keeps files short enough to hold one concept, and folders free of buckets', () => {
    const long = files.filter((file) => file.text.split('\n').length > MOST_LINES).map((file) => file.path);
    expect(long).toEqual([]);
    const buckets = files.filter((file) => /\/(utils?|helpers?|common|misc|types)(\.ts|\/)/.test(file.path));
    expect(buckets.map((file) => file.path)).toEqual([]);
  });

  it('keeps folders small enough to be seen at a glance', () => {
    const counts = new Map<string, number>();
    for (const { path } of [...files, ...sourceFiles('test'), ...sourceFiles('bench')]) {
      const kind = path.endsWith('.test.ts') ? 'tests' : 'files';
      const folder = `${path.slice(0, path.lastIndexOf('/'))}: ${kind}`;
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
    expect([...counts].filter(([, count]) => count > MOST_FILES)).toEqual([]);
  });
});

/** `src/walk/kinds/poll.ts` → `walk`; `src/main.ts` → `main`. */
function folderOf(path: string): string {
  return (path.split('/')[1] ?? '').replace(/\.ts$/, '');
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '');
}

/** The first cycle found, as a chain of paths. */
function cycleIn(all: readonly SourceFile[]): string[] | undefined {
  const byPath = new Map(all.map((file) => [file.path, file]));
  const state = new Map<string, 'open' | 'done'>();
  const visit = (path: string, trail: string[]): string[] | undefined => {
    if (state.get(path) === 'done') return undefined;
    if (state.get(path) === 'open') return [...trail.slice(trail.indexOf(path)), path];
    state.set(path, 'open');
    for (const next of byPath.get(path)?.imports ?? []) {
      const found = byPath.has(next) ? visit(next, [...trail, path]) : undefined;
      if (found !== undefined) return found;
    }
    state.set(path, 'done');
    return undefined;
  };
  for (const file of all) {
    const found = visit(file.path, []);
    if (found !== undefined) return found;
  }
  return undefined;
}
