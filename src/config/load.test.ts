import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';
import { InvalidConfig } from './parse-values.ts';
import { loadConfig } from './load.ts';

const MIRROR_API_URL = 'https://api.example.com';
const SERVICE = { MIRROR_API_URL, MIRROR_API_KEY: 'key' };

function problems(env: Record<string, string>, need: 'service' | 'database' = 'database'): readonly string[] {
  try {
    loadConfig(env, need);
  } catch (error) {
    if (error instanceof InvalidConfig) return error.problems;
    throw error;
  }
  return [];
}

const keysOf = (env: Record<string, string>): string[] =>
  loadConfig(env, 'service').service.keys.map((key) => key.reveal());

describe('loadConfig', () => {
  it('needs no variable for commands that only use the database', () => {
    const config = loadConfig({}, 'database');
    expect(config).toMatchObject({
      database: { kind: 'embedded', dataDir: resolve('data'), port: 54_329 },
      schema: 'mirror',
      service: undefined,
      collections: ['account', 'research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'],
      cron: { poll: { lists: '* * * * *' }, full: { lists: '@daily' } },
      budgetShare: 0.8,
      deletes: 'soft',
      history: { kept: true, forMs: undefined },
      gracePeriodMs: 60_000,
      http: { host: '127.0.0.1', port: 8080, token: undefined },
      webhook: { publicUrl: undefined, port: 8081, takeover: 'if-empty', header: 'X-Service-Signature' },
    });
  });

  it('needs address and key for commands that talk to the service', () => {
    expect(problems({}, 'service')).toEqual([
      expect.stringMatching(/^MIRROR_API_URL: not set/),
      expect.stringMatching(/^MIRROR_API_KEY: not set/),
    ]);
    expect(loadConfig(SERVICE, 'service').service.url).toBe(MIRROR_API_URL);
  });

  it('takes several keys, each once', () => {
    const MIRROR_API_KEY = 'one, two\nthree\r\none';
    expect(keysOf({ MIRROR_API_URL, MIRROR_API_KEY })).toEqual(['one', 'two', 'three']);
  });

  it('gives single collections their own cron lines', () => {
    const lines = { MIRROR_POLL_CRON: '*/5 * * * *', MIRROR_POLL_CRON_LISTS: '@hourly' };
    const { cron } = loadConfig({ ...lines, MIRROR_FULL_CRON_LIST_ITEMS: 'never' }, 'database');
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
      MIRROR_NOTIFY_URL: 'hooks.example.com',
      MIRROR_NOTIFY_SECRET: 'whsec_short',
      LOG_LEVEL: 'loud',
    };
    const names = problems(env, 'service').map((problem) => problem.split(':')[0] ?? '');
    expect(names.sort()).toEqual(Object.keys(env).sort());
  });

  it.each([
    ['MIRROR_BUDGET_SHARE', ['1', '.5'], ['0', '0.0', '1.01', '80%', '1e-1']],
    [
      'MIRROR_SCHEMA',
      ['mirror_2', '_m', `a${'b'.repeat(39)}`],
      [`a${'b'.repeat(40)}`, 'Mirror', '2mirror', 'm-x', 'pg_x'],
    ],
  ])('takes a share within (0, 1], and schema names that stay short and need no quotes: %s', (name, right, wrong) => {
    const isRight = (text: string): boolean => problems({ [name]: text }).length === 0;
    expect([...right, ...wrong].filter(isRight)).toEqual(right);
  });

  it('treats an empty value as not set', () => {
    expect(loadConfig({ MIRROR_SCHEMA: '', DATABASE_URL: ' ' }, 'database').schema).toBe('mirror');
  });

  it.each<[string, Record<string, string>, (string | RegExp)[]]>([
    [
      'an unknown MIRROR_ name: it is a slip',
      { MIRROR_API_KEYS: 'x', MIRROR_POLL_CRON_LIST: '@daily', PATH: '/bin' },
      [
        'MIRROR_API_KEYS: unknown variable (did you mean MIRROR_API_KEY?)',
        'MIRROR_POLL_CRON_LIST: unknown variable (did you mean MIRROR_POLL_CRON_LISTS?)',
      ],
    ],
    [
      'a variable without the other',
      { DATABASE_URL_DIRECT: 'postgres://db/x' },
      [/^DATABASE_URL_DIRECT: set, but DATABASE_URL is not\./],
    ],
    [
      'two listeners on one port',
      { MIRROR_HTTP_PORT: '54329' },
      ['MIRROR_PG_PORT: 54329 is also the port of MIRROR_HTTP_PORT. Choose another port.'],
    ],
    [
      'what is neither a choice nor a duration',
      { MIRROR_HISTORY: 'yes' },
      ['MIRROR_HISTORY: "yes" is not on, off or a duration such as 400d'],
    ],
    [
      'a collection without the one that it needs',
      { MIRROR_COLLECTIONS: 'list_items' },
      ['MIRROR_COLLECTIONS: list_items is read through lists. Add lists.'],
    ],
    [
      'a PORT of the platform that is another listener’s',
      { PORT: '8080', MIRROR_PUBLIC_URL: 'https://mirror.example.com' },
      ['MIRROR_HTTP_PORT: PORT already assigns 8080 to webhook deliveries. Choose another port.'],
    ],
    [
      'messages that nobody could verify, and a URL whose path everybody could read',
      { MIRROR_NOTIFY_URL: 'http://hooks.example.com/services/hunter' },
      [
        'MIRROR_NOTIFY_SECRET: not set, but MIRROR_NOTIFY_URL needs it to sign messages. Generate one: echo whsec_$(openssl rand -base64 32)',
        /^MIRROR_NOTIFY_URL: http:\/\/ exposes the path to anyone on the network. Use https:\/\/, or /,
      ],
    ],
    [
      'what libpq’s variables promise and nobody can keep',
      { DATABASE_URL: 'postgres://db/x', PGCHANNELBINDING: 'require', PGSERVICE: 'prod', PGSSLSNI: '1' },
      [
        /^DATABASE_URL: PGCHANNELBINDING is not supported\. .* sslmode=verify-full/,
        /^DATABASE_URL: PGSERVICE is not supported\. /,
      ],
    ],
  ])('refuses %s', (_, env, said) => {
    const patterns = said.map((each) => (typeof each === 'string' ? each : (expect.stringMatching(each) as string)));
    expect(problems(env)).toEqual(patterns);
  });

  it.each([
    [{ PORT: '3000' }, 3000],
    [{ PORT: '3000', MIRROR_WEBHOOK_PORT: '3001' }, 3001],
    [{ PORT: 'unix:/x' }, 8081],
  ])('opens the webhook listener on PORT where the platform sets one: %o', (env, port) => {
    expect(loadConfig(env, 'database').webhook.port).toBe(port);
  });
});

describe('loadConfig with files', () => {
  const folder = folderForEach();
  const file = (name: string): string => join(folder.path, name);
  beforeEach(() => {
    writeFileSync(file('key'), 'key-from-file\n');
    writeFileSync(file('empty'), '\n');
  });

  it('reads X_FILE and trims it', () => {
    expect(keysOf({ MIRROR_API_URL, MIRROR_API_KEY_FILE: file('key') })).toEqual(['key-from-file']);
  });

  it('refuses X beside X_FILE, a missing file and an empty file, once each', () => {
    const files = { MIRROR_SCHEMA_FILE: file('missing'), DATABASE_URL_FILE: file('empty') };
    expect(problems({ ...SERVICE, MIRROR_API_KEY_FILE: file('key'), ...files }, 'service')).toEqual([
      expect.stringContaining('DATABASE_URL_FILE: '),
      expect.stringContaining("MIRROR_SCHEMA_FILE: can't be read: ENOENT"),
      'MIRROR_API_KEY: MIRROR_API_KEY_FILE is set too. Remove one of them.',
    ]);
  });
});
