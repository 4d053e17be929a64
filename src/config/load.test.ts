import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InvalidConfig } from './invalid.ts';
import { loadConfig } from './load.ts';

const SERVICE = { MIRROR_API_URL: 'https://api.example.com', MIRROR_API_KEY: 'key' };

function problems(env: Record<string, string>, need: 'service' | 'database' = 'database'): readonly string[] {
  try {
    loadConfig(env, need);
  } catch (error) {
    if (error instanceof InvalidConfig) return error.problems;
    throw error;
  }
  return [];
}

describe('loadConfig', () => {
  it('needs nothing for commands that only ask the database', () => {
    const config = loadConfig({}, 'database');
    expect(config).toMatchObject({
      database: { kind: 'embedded', dataDir: resolve('data'), port: 54_329 },
      schema: 'mirror',
      service: undefined,
      collections: ['account', 'research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'],
      budgetShare: 0.8,
      deletes: 'soft',
      history: { kept: true, forMs: undefined },
      gracePeriodMs: 60_000,
      http: { host: '127.0.0.1', port: 8080, token: undefined },
      webhook: { publicUrl: undefined, port: 8081, takeover: 'if-empty', header: 'X-Service-Signature' },
    });
    expect(config.cron.poll.lists).toBe('* * * * *');
    expect(config.cron.full.lists).toBe('@daily');
  });

  it('needs address and key for commands that talk to the service', () => {
    expect(problems({}, 'service')).toEqual([
      expect.stringMatching(/^MIRROR_API_URL: not set/),
      expect.stringMatching(/^MIRROR_API_KEY: not set/),
    ]);
    expect(loadConfig(SERVICE, 'service').service.url).toBe('https://api.example.com');
  });

  it('takes several keys, each once', () => {
    const config = loadConfig({ ...SERVICE, MIRROR_API_KEY: 'one, two\nthree\r\none' }, 'service');
    expect(config.service.keys.map((key) => key.reveal())).toEqual(['one', 'two', 'three']);
  });

  it('gives single collections their own cron lines', () => {
    const { cron } = loadConfig(
      {
        MIRROR_POLL_CRON: '*/5 * * * *',
        MIRROR_POLL_CRON_LISTS: '@hourly',
        MIRROR_FULL_CRON_LIST_ITEMS: 'never',
      },
      'database',
    );
    expect(cron.poll).toMatchObject({ lists: '@hourly', list_items: '*/5 * * * *' });
    expect(cron.full).toMatchObject({ lists: '@daily', list_items: 'never' });
  });

  it('lists every problem at once, by the variable’s name', () => {
    const env = {
      MIRROR_API_URL: 'http://api.example.com',
      MIRROR_API_KEY: 'Bearer abc',
      MIRROR_SCHEMA: 'pg_mirror',
      MIRROR_PG_PORT: '65536',
      MIRROR_POLL_CRON: '* * * *',
      MIRROR_FULL_CRON_LISTS: '@often',
      MIRROR_BUDGET_SHARE: '1.1',
      MIRROR_DELETES: 'maybe',
      MIRROR_HISTORY: 'sometimes',
      MIRROR_SETTLE: '60',
      MIRROR_COLLECTIONS: 'research',
      MIRROR_IGNORE_FIELDS: 'lists',
      MIRROR_EXCLUDE_FIELDS: 'research_jobs.job_id',
      MIRROR_SUBMIT_MAX_QUEUED: '0',
      MIRROR_CREDITS_FLOOR: '-1',
      MIRROR_STATUS_TOKEN: 'short',
      MIRROR_PUBLIC_URL: 'example.com',
      MIRROR_WEBHOOK_HEADER: 'X Signature',
      LOG_LEVEL: 'loud',
    };
    const names = problems(env, 'service').map((problem) => problem.split(':')[0] ?? '');
    expect(names.sort()).toEqual(Object.keys(env).sort());
  });

  it.each([
    ['0', false],
    ['0.0', false],
    ['1', true],
    ['.5', true],
    ['1.01', false],
    ['80%', false],
    ['1e-1', false],
  ])('takes a share within (0, 1]: %s', (text, right) => {
    expect(problems({ MIRROR_BUDGET_SHARE: text }).length === 0).toBe(right);
  });

  it.each([
    ['mirror_2', true],
    ['_m', true],
    [`a${'b'.repeat(39)}`, true],
    [`a${'b'.repeat(40)}`, false],
    ['Mirror', false],
    ['2mirror', false],
    ['m-x', false],
    ['pg_x', false],
  ])('takes schema names that stay short and need no quotes: %s', (text, right) => {
    expect(problems({ MIRROR_SCHEMA: text }).length === 0).toBe(right);
  });

  it('takes an unknown MIRROR_ name for a slip', () => {
    expect(problems({ MIRROR_API_KEYS: 'x', MIRROR_POLL_CRON_LIST: '@daily', PATH: '/bin' })).toEqual([
      'MIRROR_API_KEYS: there is no such variable (did you mean MIRROR_API_KEY?)',
      'MIRROR_POLL_CRON_LIST: there is no such variable (did you mean MIRROR_POLL_CRON_LISTS?)',
    ]);
  });

  it('takes an empty value for one that is not set', () => {
    expect(loadConfig({ MIRROR_SCHEMA: '', DATABASE_URL: ' ' }, 'database').schema).toBe('mirror');
  });

  it('finds problems that span variables', () => {
    expect(problems({ DATABASE_URL_DIRECT: 'postgres://db/x' })).toEqual([
      expect.stringMatching(/^DATABASE_URL_DIRECT: set without DATABASE_URL/),
    ]);
    expect(problems({ MIRROR_HTTP_PORT: '54329' })).toEqual([
      'MIRROR_PG_PORT: 54329 is the port of MIRROR_HTTP_PORT too: choose another one',
    ]);
    expect(problems({ MIRROR_HISTORY: 'yes' })).toEqual([
      'MIRROR_HISTORY: "yes" is none of on, off, and no duration such as 400d',
    ]);
    expect(problems({ MIRROR_COLLECTIONS: 'list_items' })).toEqual([
      'MIRROR_COLLECTIONS: list_items needs lists too: its paths are found there',
    ]);
  });

  it('opens the webhook listener on PORT where the platform sets one', () => {
    expect(loadConfig({ PORT: '3000' }, 'database').webhook.port).toBe(3000);
    expect(loadConfig({ PORT: '3000', MIRROR_WEBHOOK_PORT: '3001' }, 'database').webhook.port).toBe(3001);
    expect(loadConfig({ PORT: 'unix:/x' }, 'database').webhook.port).toBe(8081);
    expect(problems({ PORT: '8080', MIRROR_PUBLIC_URL: 'https://mirror.example.com' })).toEqual([
      'MIRROR_HTTP_PORT: 8080 is what PORT gives to webhook deliveries: choose another one',
    ]);
  });
});

describe('loadConfig with files', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'config-test-'));
    writeFileSync(join(folder, 'key'), 'key-from-file\n');
    writeFileSync(join(folder, 'empty'), '\n');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('reads X_FILE and trims it', () => {
    const { service } = loadConfig(
      { MIRROR_API_URL: SERVICE.MIRROR_API_URL, MIRROR_API_KEY_FILE: join(folder, 'key') },
      'service',
    );
    expect(service.keys.map((key) => key.reveal())).toEqual(['key-from-file']);
  });

  it('refuses what libpq’s variables promise and nobody can keep', () => {
    const env = {
      DATABASE_URL: 'postgres://db/x',
      PGCHANNELBINDING: 'require',
      PGSERVICE: 'prod',
      PGSSLSNI: '1',
    };
    expect(problems(env)).toEqual([
      expect.stringMatching(/^DATABASE_URL: PGCHANNELBINDING can’t be obeyed: .* sslmode=verify-full/),
      expect.stringMatching(/^DATABASE_URL: PGSERVICE can’t be obeyed: /),
    ]);
  });

  it('refuses X beside X_FILE, a file that is missing and one that is empty: each once', () => {
    expect(
      problems(
        {
          ...SERVICE,
          MIRROR_API_KEY_FILE: join(folder, 'key'),
          MIRROR_SCHEMA_FILE: join(folder, 'missing'),
          DATABASE_URL_FILE: join(folder, 'empty'),
        },
        'service',
      ),
    ).toEqual([
      expect.stringContaining('DATABASE_URL_FILE: '),
      expect.stringContaining("MIRROR_SCHEMA_FILE: can't be read: ENOENT"),
      'MIRROR_API_KEY: set, and MIRROR_API_KEY_FILE too: remove one of them',
    ]);
  });
});
