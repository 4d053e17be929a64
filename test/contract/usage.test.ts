import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { makeFolder, runProgram } from '../support/processes/program.ts';

const folder = makeFolder();
const cwd = folder.path;
afterAll(() => folder.remove());

const COMMANDS = [
  'start',
  'sync',
  'verify',
  'status',
  'submit',
  'submissions',
  'events',
  'quarantine',
  'accounts',
  'migrate',
  'doctor',
  'sql',
  'columns',
  'distribute',
  'forget',
  'copy',
  'mcp',
  'sandbox',
  'demo',
];

describe('help', () => {
  it('lists the commands there are, on stdout, and ends with 0', async () => {
    const { code, stdout, stderr } = await runProgram(['--help'], { cwd });
    expect(code).toBe(0);
    expect(stderr).toBe('');
    const listed = [...stdout.matchAll(/^ {2}([a-z]+) .*/gm)].map((match) => match[1]);
    expect(listed).toEqual([...COMMANDS, 'help']);
  });
});

describe('wrong usage', () => {
  it.each([
    ['no command', [], 'Usage: research-mirror'],
    ['an unknown command', ['synk'], 'Did you mean sync?'],
    ['help with an unknown command', ['help', 'synk'], 'Did you mean sync?'],
    ['--help of an unknown command', ['synk', '--help'], 'Did you mean sync?'],
    ['an unknown option', ['sync', '--ful'], "unknown option '--ful'"],
    ['a missing argument', ['sql'], "missing required argument 'query'"],
    ['too many arguments', ['sql', 'select', '1'], 'too many arguments'],
    ['an empty query', ['sql', ' '], 'the query is empty'],
    ['two formats', ['sql', 'select 1', '--csv', '--json'], "--csv and --json can't be used together"],
    ['a removed command', ['export', 'lists', '--parquet', '-o', 'x'], 'export was removed: use "research-'],
    ['shards that are none', ['distribute', '--shards', 'x'], '--shards: "x" must be a whole number'],
    ['a time-out that is none', ['sql', 'select 1', '--timeout', '5'], '--timeout: "5" is not a duration'],
    ['an unknown collection', ['sync', 'lsits'], 'no such collection: "lsits" (did you mean lists?)'],
    ['deletions that nothing proves', ['sync', '--accept-deletions'], '--accept-deletions needs --full'],
    ['switches of the sandbox that are none', ['sandbox', '--order', 'up'], '--order: must be one of'],
  ])('%s ends with 2 and says what is wrong on stderr', async (_, args, message) => {
    const { code, stdout, stderr } = await runProgram(args, { cwd });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  });
});

describe('a wrong configuration', () => {
  it('lists every problem by variable name, starts nothing and ends with 2', async () => {
    const { code, stdout, stderr } = await runProgram(['start'], {
      cwd,
      env: {
        MIRROR_API_KEYS: 'a-secret-in-the-wrong-place',
        MIRROR_API_URL: 'http://api.example.com',
        MIRROR_PG_PORT: '70000',
        MIRROR_POLL_CRON: '99 * * * *',
        DATABASE_URL: 'postgres://mirror:hunter#2@db.example.com/mirror',
      },
    });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr.split('\n').map((line) => line.split(':').slice(0, 2).join(':').trim())).toEqual([
      'research-mirror: the configuration has 6 problems',
      'MIRROR_API_KEYS: unknown variable (did you mean MIRROR_API_KEY?)',
      expect.stringMatching(/^MIRROR_API_KEY: not set/),
      expect.stringMatching(/^DATABASE_URL: /),
      expect.stringMatching(/^MIRROR_PG_PORT: /),
      expect.stringMatching(/^MIRROR_API_URL: /),
      expect.stringMatching(/^MIRROR_POLL_CRON: .*minute "99" is not valid/),
      '',
    ]);
    expect(stderr).not.toMatch(/hunter|a-secret/);
    expect(existsSync(join(cwd, 'data'))).toBe(false);
  });

  it.each(['migrate', 'sandbox', 'demo'])('is told by %s as well', async (command) => {
    const { code, stderr } = await runProgram([command], { cwd, env: { MIRROR_SHEMA: 'x' } });
    expect(code).toBe(2);
    expect(stderr).toContain('MIRROR_SHEMA: unknown variable (did you mean MIRROR_SCHEMA?)');
  });

  it('may come from .env and from files, and the environment wins', async () => {
    const own = makeFolder();
    try {
      writeFileSync(join(own.path, 'url'), 'https://api.example.com/v1/\n');
      writeFileSync(
        join(own.path, '.env'),
        'MIRROR_API_URL_FILE=url\nMIRROR_SCHEMA=pg_wrong\nMIRROR_DELETES=sometimes\n',
      );
      const { code, stderr } = await runProgram(['sync'], { cwd: own.path, env: { MIRROR_DELETES: 'soft' } });
      expect(code).toBe(2);
      expect(stderr).toMatch(/2 problems:\n {2}MIRROR_API_KEY: not set.*\n {2}MIRROR_SCHEMA: "pg_wrong" /);
    } finally {
      own.remove();
    }
  });
});

describe('a data folder that can’t be used', () => {
  const account = { MIRROR_API_URL: 'http://127.0.0.1:9', MIRROR_API_KEY: 'some-key', MIRROR_HTTP_PORT: '0' };
  // `/proc` is there and takes no folder, with an error that sounds as if it were missing.
  const places = ['/dev/null', '/dev/null/data', ...(existsSync('/proc/self') ? ['/proc/mirror'] : [])];

  it.each(places)('%s is told by name, with what to do, by what would write there', async (dataDir) => {
    const env = { ...account, MIRROR_DATA_DIR: dataDir };
    for (const command of ['start', 'demo']) {
      const { code, stderr } = await runProgram([command], { cwd, env });
      expect(code).toBe(3);
      expect(stderr).toMatch(
        /^research-mirror: MIRROR_DATA_DIR \(.*\) can't hold the embedded database: E.*Name a folder/m,
      );
    }
    const { code, stderr } = await runProgram(['status'], { cwd, env });
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringMatching(/^research-mirror: there is no mirror in .* yet\. .*\n$/) as string,
    });
  });
});
