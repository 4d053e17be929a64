import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sourceHash } from '../../bin/source-hash.js';
import { LAUNCHER, makeFolder, runProgram, startProgram, type Running } from '../support/processes/program.ts';

const folder = makeFolder();
const cwd = folder.path;
afterAll(() => folder.remove());

/** Makes the launcher believe that it runs on an older Node: what it then starts is the pinned one. */
const asNode = (more: string): readonly string[] => [
  '--import',
  `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'18.0.0'}});${more}`,
];
/** One that can't become another program. */
const OLD_NODE = asNode('delete process.execve');
const OLDER_NODES = [
  ['starts it', OLD_NODE],
  ['becomes it', asNode('')],
] as const;

async function startSandbox(nodeArguments: readonly string[]): Promise<Running> {
  const running = startProgram(['sandbox', '--port', '0', '--control-port', '0'], {
    cwd,
    script: LAUNCHER,
    nodeArguments,
  });
  await running.until('API key');
  return running;
}

describe.each(OLDER_NODES)('the launcher under an older Node, where it %s', (how, nodeArguments) => {
  it('runs the program on the pinned one, with its streams and its exit code', async () => {
    const version = await runProgram(['--version'], { cwd, script: LAUNCHER, nodeArguments });
    expect(version).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string });
    expect((await runProgram(['nonsense'], { cwd, script: LAUNCHER, nodeArguments })).code).toBe(2);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('hands %s on: the program stops cleanly', async (signal) => {
    const running = await startSandbox(nodeArguments);
    running.child.kill(signal);
    expect(await running.ended).toMatchObject({ code: 0, signal: null });
  });

  it('takes a Ctrl-C that arrives twice at once for one', async () => {
    const running = await startSandbox(nodeArguments);
    running.child.kill('SIGINT');
    running.child.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 0, signal: null });
  });

  it('takes the program with it when it is killed', async () => {
    const running = await startSandbox(nodeArguments);
    running.child.kill('SIGKILL');
    // The program holds the streams open as long as it lives: they close only when it has gone, too.
    expect(await running.ended).toMatchObject({ code: null, signal: 'SIGKILL' });
  });

  it.runIf(process.platform === 'linux')(
    `leaves ${how === 'starts it' ? 'itself' : 'nothing'} beside the program`,
    async () => {
      const running = await startSandbox(nodeArguments);
      const { pid } = running.child;
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
      const script = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        .split('\0')
        .find((each) => /\.[jt]s$/.test(each));
      expect([script === LAUNCHER, children !== '']).toEqual(how === 'starts it' ? [true, true] : [false, false]);
      running.child.kill('SIGTERM');
      expect(await running.ended).toMatchObject({ code: 0, signal: null });
    },
  );
});

/** A folder with a `node` that calls itself `version`, says what it is given to run, and has this one do it. */
function machineNode(name: string, version: string): string {
  const bin = join(cwd, name);
  mkdirSync(bin, { recursive: true });
  const text = `#!/bin/sh\n[ "$1" = -p ] && { ${version}; exit; }\necho "machine's: $*" >&2\nexec ${process.execPath} "$@"\n`;
  writeFileSync(join(bin, 'node'), text);
  chmodSync(join(bin, 'node'), 0o755);
  return bin;
}

describe('the launcher on a machine with a Node of its own', () => {
  const good = machineNode('good', 'echo 24.21.0');
  const old = machineNode('old', 'echo 22.23.3');
  const broken = machineNode('broken', 'exit 1');
  // As npm puts it: another folder's pinned one, which is not the machine's.
  const pinned = machineNode('node_modules/.bin', 'echo 26.10.0');
  const started = (env: Record<string, string>, nodeArguments: readonly string[] = []) =>
    runProgram(['--version'], { cwd, script: LAUNCHER, nodeArguments, env });
  const MACHINES = expect.stringMatching(/^machine's: .*\/main\.[jt]s --version\n$/) as string;

  it.each([
    ['further down the PATH than node_modules/.bin', { PATH: `${pinned}:${good}` }],
    ['behind an older one', { PATH: `${old}:${broken}:${good}` }],
    ['which runs npm', { PATH: pinned, npm_node_execpath: join(good, 'node') }],
    ['which no longer runs npm', { PATH: good, npm_node_execpath: join(cwd, 'gone') }],
  ])('runs the program on that one: %s', async (_, env) => {
    expect(await started(env)).toMatchObject({ code: 0, stderr: MACHINES });
  });

  it('runs it on the pinned one where the machine’s is too old, or none runs', async () => {
    expect(
      await started({ PATH: `${pinned}:${old}:${broken}:.:`, npm_node_execpath: join(old, 'node') }),
    ).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string,
      stderr: '',
    });
  });

  it('executes the one that it runs on again, with bounds of the heap that can’t be set later and what it was given', async () => {
    const itself = `data:text/javascript,Object.defineProperty(process,'execPath',{value:${JSON.stringify(join(good, 'node'))}})`;
    const { stderr } = await started({ PATH: pinned }, ['--import', itself, '--no-deprecation']);
    expect(stderr).toMatch(
      /^machine's: --max-semi-space-size=\d+ --heap-growing-percent=\d+ .*--no-deprecation .*main/,
    );
    const set = await started({ PATH: pinned, NODE_OPTIONS: '--max-semi-space-size=16' }, ['--import', itself]);
    expect(set).toMatchObject({ code: 0, stderr: '' });
    // As the compose file's container does, which has begun something in this process.
    const script = join(cwd, 'imports.mjs');
    writeFileSync(script, `await import(${JSON.stringify(LAUNCHER)});`);
    const imported = { cwd, script, nodeArguments: ['--import', itself], env: { PATH: pinned } };
    expect(await runProgram(['--version'], imported)).toMatchObject({ code: 0, stderr: '' });
  });
});

/** The program signals itself when it begins to load its commands, and loads them once the signal was handled. */
const SIGNAL_WHILE_LOADING = [
  '--import',
  `data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from 'node:module';
    const signalled = (url) => "process.kill(process.pid, 'SIGTERM');" +
      "const wait = setInterval(() => {}, 1000);" + // a signal alone keeps no program waiting
      "await new Promise((heard) => process.once('SIGTERM', heard));" +
      "clearInterval(wait);" +
      "export * from " + JSON.stringify(url + '?loaded');
    let open = true; // a bundle may have more files of such a name
    const first = () => open && !(open = false);
    registerHooks({
      load: (url, context, next) => /\\/(src\\/cli\\/run\\.ts|dist\\/program\\/run-[^/]+\\.js)$/.test(url) && first()
        ? { format: 'module', shortCircuit: true, source: signalled(url) }
        : next(url, context),
    });`)}`,
];

describe('a signal that comes while the program is still being loaded', () => {
  const env = { MIRROR_API_URL: 'http://127.0.0.1:9', MIRROR_API_KEY: 'some-key' };
  const signalled = (command: string) =>
    runProgram([command], { cwd, env, script: LAUNCHER, nodeArguments: SIGNAL_WHILE_LOADING });

  it('ends the daemon cleanly before it has begun anything', async () => {
    expect(await signalled('start')).toEqual({ code: 0, signal: null, stdout: '', stderr: '' });
    expect(existsSync(join(cwd, 'data'))).toBe(false);
  });

  it('interrupts other commands', async () => {
    const ended = await signalled('sync');
    expect(ended).toMatchObject({ code: 130, signal: null, stdout: '' });
    expect(ended.stderr).toContain('research-mirror: interrupted');
  });
});

/** The launcher as in a checkout at `root`. */
function copyLauncher(root: string): void {
  mkdirSync(join(root, 'bin'));
  for (const file of readdirSync(dirname(LAUNCHER))) {
    copyFileSync(join(dirname(LAUNCHER), file), join(root, 'bin', file));
  }
}

/** A checkout whose program only says which one it is. */
function makeCheckout(): { readonly path: string; readonly remove: () => void; says(): Promise<string> } {
  const own = makeFolder();
  copyLauncher(own.path);
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(own.path, path)), { recursive: true });
    writeFileSync(join(own.path, path), text);
  };
  put('package.json', '{ "type": "module" }');
  put('package-lock.json', '{}');
  put('build/bundle.ts', '');
  put('packages/runtime/src/clock.ts', '');
  put('node_modules/commander/index.js', '');
  put('src/main.ts', `const text: string = 'sources'; process.stdout.write(text);`);
  put('dist/program/main.js', `process.stdout.write('bundle');`);
  return {
    ...own,
    says: async () => {
      const script = join(own.path, 'bin', 'research-mirror.js');
      const { stdout, stderr } = await runProgram([], { cwd, script, env: { LOG_LEVEL: 'debug' } });
      return `${stdout}${stderr}`;
    },
  };
}

describe('the launcher of a checkout with a bundle', () => {
  const checkout = makeCheckout();
  afterAll(() => checkout.remove());
  const stamp = join(checkout.path, 'dist', 'program', 'sources.sha256');
  const source = join(checkout.path, 'packages', 'runtime', 'src', 'clock.ts');

  it('runs the sources where it can’t tell of which ones the bundle is', async () => {
    expect(await checkout.says()).toBe('sources');
  });

  it('runs the bundle while it is of just these sources, whatever their times', async () => {
    writeFileSync(stamp, `${sourceHash(checkout.path)}\n`);
    expect(await checkout.says()).toBe('bundle');
    utimesSync(source, 1_900_000_000, 1_900_000_000);
    expect(await checkout.says()).toBe('bundle');
  });

  it.each([
    ['a source that changed', () => writeFileSync(source, 'export {};')],
    ['a source that came', () => writeFileSync(join(checkout.path, 'src', 'new.ts'), '')],
    ['other packages', () => writeFileSync(join(checkout.path, 'package-lock.json'), '{ }')],
  ])('runs the sources after %s, and says so when it is asked to', async (_, change) => {
    writeFileSync(stamp, `${sourceHash(checkout.path)}\n`);
    change();
    expect(await checkout.says()).toMatch(/^sources(?=research-mirror: .* "npm run build"\.\n$)/);
  });

  it('runs it again once it is rebuilt, or the sources are what they were', async () => {
    writeFileSync(source, '');
    writeFileSync(stamp, `${sourceHash(checkout.path)}\n`);
    writeFileSync(source, 'export {};');
    expect(await checkout.says()).toContain('sources');
    writeFileSync(source, '');
    expect(await checkout.says()).toBe('bundle');
  });

  it('takes no notice of tests, which are in no bundle', async () => {
    writeFileSync(join(checkout.path, 'src', 'new.test.ts'), '');
    expect(await checkout.says()).toBe('bundle');
  });

  it('runs the bundle where there are no sources, as in the package and in the image', async () => {
    rmSync(join(checkout.path, 'src'), { recursive: true });
    rmSync(join(checkout.path, 'node_modules'), { recursive: true });
    rmSync(stamp);
    expect(await checkout.says()).toBe('bundle');
  });
});

describe('the launcher without what it needs', () => {
  it.each([
    ['its packages', [], 'its packages are not installed'],
    ['the pinned Node', ['commander'], 'it needs Node 24 or newer, and this is'],
  ])('says in one line what to do about missing %s', async (_, installed, message) => {
    const own = makeFolder();
    try {
      const script = join(own.path, 'bin', 'research-mirror.js');
      copyLauncher(own.path);
      writeFileSync(join(own.path, 'package.json'), '{ "type": "module" }');
      for (const name of installed) {
        mkdirSync(join(own.path, 'node_modules', name), { recursive: true });
        writeFileSync(join(own.path, 'node_modules', name, 'index.js'), '');
      }
      const { code, stdout, stderr } = await runProgram(['start'], {
        cwd,
        env: { PATH: '' },
        script,
        nodeArguments: OLD_NODE,
      });
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(message);
      expect(stderr).toContain('npm ci');
      expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    } finally {
      own.remove();
    }
  });
});
