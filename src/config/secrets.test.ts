import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { loadConfig } from './load.ts';
import { secretsOf } from './environment.ts';

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
