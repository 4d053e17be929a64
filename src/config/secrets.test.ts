import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { loadConfig } from './load.ts';
import { secretsOf } from './environment.ts';

const revealed = (env: Record<string, string>): string[] => [...secretsOf(env)];

describe('secretsOf', () => {
  it('finds keys, tokens and passwords in every place and spelling', () => {
    expect(
      revealed({
        MIRROR_API_KEY: 'key-one,\nkey-two',
        MIRROR_STATUS_TOKEN: 'status-token-16c',
        DATABASE_URL: 'postgres://u:p%40ss@db/mirror',
        DATABASE_URL_DIRECT: 'postgres://db/mirror?user=u&password=direct%2B',
        PGPASSWORD: 'from-pg',
        PGSSLPASSWORD: 'of-the-key',
        HTTPS_PROXY: 'http://me:proxied@proxy:3128',
      }).sort(),
    ).toEqual(
      [
        'key-one',
        'key-two',
        'status-token-16c',
        'p%40ss',
        'p@ss',
        'direct%2B',
        'direct+',
        'from-pg',
        'of-the-key',
        'proxied',
      ].sort(),
    );
  });

  it('finds a key that is set twice, which is wrong', () => {
    expect(revealed({ MIRROR_API_KEY: 'key-one', MIRROR_API_KEY_FILE: '/run/secrets/key' })).toEqual([
      'key-one',
    ]);
  });

  it('finds the password of a malformed DSN whole', () => {
    expect(revealed({ DATABASE_URL: 'postgres://u:p@ss#wo/rd@db/mirror' })).toContain('p@ss#wo/rd');
  });
});

describe('Secret', () => {
  it('shows itself in no print of the configuration', () => {
    const config = loadConfig(
      {
        MIRROR_API_URL: 'https://api.example.com',
        MIRROR_API_KEY: 'hunter-key',
        MIRROR_STATUS_TOKEN: 'hunter-token-16c',
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
});
