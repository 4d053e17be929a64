import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { readTextFile, secretsOf, Variables } from './environment.ts';
import { loadConfig } from './load.ts';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';

const folder = folderForEach();
const file = (content: string | Buffer): string => {
  const path = join(folder.path, 'file');
  writeFileSync(path, content);
  return path;
};
const MIB = 'x'.repeat(1024 * 1024);

it('a small file gives its text without a byte order mark', () => {
  expect(readTextFile(file('\ufeffk1\r\n'))).toBe('k1\r\n');
  const { texts } = new Variables({ MIRROR_API_KEY_FILE: file('\ufeffk1\r\n') });
  expect(texts.get('MIRROR_API_KEY')).toBe('k1');
  expect([readTextFile(file(MIB)), readTextFile('/dev/null')]).toEqual([MIB, '']);
});

it('a file that has no end, is too large, or is not UTF-8 is refused', () => {
  for (const path of ['/dev/zero', file(`${MIB}x`)]) expect(() => readTextFile(path)).toThrow('larger than 1 MiB');
  for (const text of [Buffer.from('key', 'utf16le'), Buffer.from('Gew\xfcrz', 'latin1')])
    expect(() => readTextFile(file(text))).toThrow('Save it as UTF-8');
});

it('a file with a variable’s value must be a regular file: others could keep the program waiting', () => {
  const pipe = join(folder.path, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const problem = (path: string): string[] => new Variables({ MIRROR_API_KEY_FILE: path }).problems;
  for (const path of [pipe, '/dev/zero', '/dev/null', folder.path]) {
    expect(problem(path)).toEqual(["MIRROR_API_KEY_FILE: can't be read: it is not a regular file"]);
  }
  expect(problem(join(folder.path, 'none'))).toEqual([expect.stringContaining('ENOENT')]);
});

it('a name with our prefix and another separator than _ is a problem', () => {
  expect(new Variables({ 'MIRROR-API-KEY': 'k' }).problems).toEqual([
    'MIRROR-API-KEY: unknown variable (did you mean MIRROR_API_KEY?)',
  ]);
});

it.each<[Record<string, string>, string[]]>([
  [{ MIRROR_API_KEY: 'key-one,\nkey-two' }, ['key-one', 'key-two']],
  [{ MIRROR_STATUS_TOKEN: 'status-token-16c' }, ['status-token-16c']],
  [{ MIRROR_NOTIFY_URL: 'https://hooks.example/T0/path' }, ['https://hooks.example/T0/path']],
  [{ DATABASE_URL: 'postgres://u:p%40ss@db/mirror' }, ['p%40ss', 'p@ss']],
  [{ DATABASE_URL_DIRECT: 'postgres://db/mirror?user=u&password=direct%2B' }, ['direct%2B', 'direct+']],
  [{ PGPASSWORD: 'from-pg', PGSSLPASSWORD: 'of-the-key' }, ['from-pg', 'of-the-key']],
  [{ HTTPS_PROXY: 'http://me:proxied@proxy:3128' }, ['proxied']],
  // Wrong, and still secret: a key that is set twice, a malformed DSN.
  [{ MIRROR_API_KEY: 'key-one', MIRROR_API_KEY_FILE: '/run/secrets/key' }, ['key-one']],
  [{ DATABASE_URL: 'postgres://u:p@ss#wo/rd@db/mirror' }, ['p@ss#wo/rd']],
])('secrets are found in every place and spelling: %o', (env, secrets) => {
  expect([...secretsOf(env)]).toEqual(secrets);
});

it('no print of the configuration shows a secret', () => {
  const config = loadConfig(
    {
      MIRROR_API_URL: 'https://api.example.com',
      MIRROR_API_KEY: 'hunter-key',
      MIRROR_STATUS_TOKEN: 'hunter-token-16c',
      MIRROR_NOTIFY_URL: 'https://hooks.example/hunter-path',
      MIRROR_NOTIFY_SECRET: `whsec_${Buffer.from('hunter'.repeat(5)).toString('base64')}`,
      DATABASE_URL: 'postgres://u:hunter-dsn@db/mirror',
    },
    'service',
  );
  const prints = [
    inspect(config, { depth: null, showHidden: true }),
    JSON.stringify(config),
    config.service.keys.join(),
  ];
  for (const print of prints) expect(print).not.toContain('hunter');
  expect(config.service.keys[0]?.reveal()).toBe('hunter-key');
});
