import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { TEST_USER } from '@research-mirror/sandbox/testing/sandbox';
import { LAUNCHER, type Outcome, type Running } from '../support/processes/program.ts';
import { createSystem, type Environment, type System } from '../support/processes/system.ts';

const KEY = 'key-that-nobody-may-see';
/** A reserved port: nothing listens there. */
const NOBODY = 'http://127.0.0.1:1';
/** An empty payload, on purpose. */
const NOTHING = ['--data', '{}'];
/** As most operators have it. */
const USUAL: Environment = { MIRROR_BUDGET_SHARE: undefined };

let system: System;
beforeAll(async () => {
  const keys = `${KEY}=${TEST_USER}`;
  system = await createSystem({ limits: 'on', keys, jobs: 20, lists: 2, itemsPerList: 1 });
});
afterEach(() => system.sandbox.control.change({ fault500: 0 }));
afterAll(() => system.close());

const begin = (args: readonly string[], env: Environment = {}): Running => system.begin(args, { ...USUAL, ...env });
const run = (...args: readonly string[]): Promise<Outcome> => begin(args).ended;
const enrich = (env: Environment): Promise<Outcome> => begin(['submit', 'enrich', ...NOTHING], env).ended;

interface Row {
  readonly id: string;
  readonly state: string;
  readonly payload: string;
  readonly error: string | null;
}
async function rows(): Promise<readonly Row[]> {
  const found = await system.db.query<Row>(
    'select submission_id as id, state, payload::text as payload, error from mirror.submissions order by submission_id',
  );
  return found.rows;
}
const last = async (): Promise<Row | undefined> => (await rows()).at(-1);
const cancelAll = (): Promise<unknown> =>
  system.db.query(`update mirror.submissions set state = 'cancelled' where state = 'queued'`);

describe('submit before an account was mirrored', () => {
  it('knows none, and sends nothing', async () => {
    for (const args of [[], ['--user', '7']]) {
      const { code, stdout, stderr } = await run('submit', 'research', ...NOTHING, ...args);
      expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
      expect(stderr).toMatch(/^research-mirror: no account is mirrored yet.*"research-mirror sync" first\n$/);
    }
  });
});

describe('submit without a running daemon', () => {
  beforeAll(async () => {
    expect((await run('sync', 'account')).code).toBe(0);
  });

  it('sends it itself, once, and prints the answer; no digit is lost and no secret shown', async () => {
    const payload = '{"company_url": "https://a.example", "n": 9007199254740993}';
    const { code, stdout, stderr } = await begin(['submit', 'research', '--data', payload], {
      LOG_LEVEL: 'trace',
    }).ended;
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/submission 1: accepted \(20\d\)\n$/),
    });
    expect(JSON.parse(stdout)).toHaveProperty('job_id');
    expect(stdout + stderr).not.toContain(KEY);
    const sent = await system.sandbox.control.operations();
    expect(sent).toMatchObject([{ operation: 'research' }]);
    expect(JSON.stringify(sent)).toContain('9007199254740993');
    expect(await last()).toMatchObject({ state: 'accepted' });
  });

  it('ends with 1 where the service refuses it, and says why', async () => {
    const { code, stderr } = await run('submit', 'sequence', '--id', '999999999');
    expect(code).toBe(1);
    expect(stderr).toMatch(/submission 2: rejected \(404\): /);
  });

  it('ends with 4 where the outcome is unknown, never to be repeated', async () => {
    await system.sandbox.control.change({ fault500: 1, faultRoutes: 'posts' });
    const { code, stdout, stderr } = await run('submit', 'enrich', ...NOTHING, '--json');
    expect(code).toBe(4);
    expect(stderr).toMatch(/submission 3: outcome unknown \(500\).*It may have taken effect; .*\. Never retry it/);
    expect(JSON.parse(stdout)).toMatchObject({ id: '3', state: 'unknown', responseStatus: 500, stuck: null });
    expect((await run('status')).stdout).toContain('1 submission of account 1001 ended with an unknown outcome');
  });

  it('takes the payload from a file and from standard input, and gives one submission for one key', async () => {
    writeFileSync(join(system.cwd, 'payload.json'), '\uFEFF{"from": "file"}');
    const first = await run('submit', 'enrich', '--data', '@payload.json', '--key', 'k', '--json');
    const again = await run('submit', 'enrich', '--data', '@payload.json', '--key', 'k', '--json');
    expect([first.code, again.code]).toEqual([0, 0]);
    expect(JSON.parse(again.stdout)).toMatchObject({ id: (JSON.parse(first.stdout) as Row).id });
    const child = spawn(process.execPath, [LAUNCHER, 'submit', 'enrich', '--data', '-', '--no-wait'], {
      cwd: system.cwd,
      env: {
        PATH: process.env['PATH'],
        HOME: system.cwd,
        DATABASE_URL: system.databaseUrl,
        MIRROR_API_URL: system.sandbox.url,
        MIRROR_API_KEY: KEY,
      },
    });
    child.stdin.end('{"from": "input"}');
    expect(await readText(child.stderr)).toMatch(/submission \d+: queued\n$/);
    expect(await last()).toMatchObject({ payload: '{"from": "input"}', state: 'queued' });
    const sent = await system.sandbox.control.operations();
    expect(sent.filter((each) => JSON.stringify(each).includes('file'))).toHaveLength(1);
  });

  it('sends its own alone: what was queued before it stays queued', async () => {
    const before = await last();
    expect(before).toMatchObject({ state: 'queued' });
    expect((await run('submit', 'enrich', '--data', '{"later": true}')).code).toBe(0);
    expect((await rows()).slice(-2)).toMatchObject([before, { state: 'accepted' }]);
    await cancelAll();
  });

  it('stays queued when it is interrupted, and says how to take it back', async () => {
    // Its rate limit lets one go in a minute.
    expect((await run('submit', 'list', '--data', '{"name": "one"}')).code).toBe(0);
    const second = begin(['submit', 'list', '--data', '{"name": "two"}']);
    await second.until(': queued');
    second.child.kill('SIGINT');
    const { code, stderr } = await second.ended;
    expect(code).toBe(130);
    const { id = '', state } = (await last()) ?? {};
    expect(state).toBe('queued');
    expect(stderr).toContain(`submission ${id} stays queued. "research-mirror submissions cancel ${id}" cancels it\n`);
    expect((await run('submissions', 'cancel', id)).code).toBe(0);
  });

  it('ends with 3 where no daemon can send it, where submissions are off, and where too many wait', async () => {
    const keyless = await enrich({ MIRROR_API_URL: undefined, MIRROR_API_KEY: undefined });
    expect(keyless).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/stays queued: no daemon runs/) as string,
    });
    const off = await enrich({ MIRROR_SUBMIT: 'off' });
    expect(off).toMatchObject({ code: 3, stderr: expect.stringContaining('MIRROR_SUBMIT=off') as string });
    const full = await enrich({ MIRROR_SUBMIT_MAX_QUEUED: '1' });
    expect(full).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('MIRROR_SUBMIT_MAX_QUEUED') as string,
    });
    await cancelAll();
  });

  it('goes on where another process takes the account away from it, and lets it go', async () => {
    // It tries again and again. (Where the service is was never told.)
    await system.db.query('update mirror_sync.account set origin = null');
    const waiting = begin(['submit', 'enrich', ...NOTHING], { MIRROR_API_URL: NOBODY });
    await waiting.until('refused the connection');
    // Between two tries: one that is claimed then would stay `sending` until nobody can know its outcome any more.
    await eventually('the account to be taken away', async () => {
      const client = await system.db.connect();
      try {
        await client.query('begin; select from mirror_sync.account for update');
        const { rowCount } = await client.query(`select from mirror.submissions where state = 'sending'`);
        if (rowCount !== 0) return false;
        await client.query(`update mirror_sync.account set owner = 'somebody', token = token + 1`);
        return true;
      } finally {
        await client.query('commit');
        client.release();
      }
    });
    await eventually('the account to be taken again', async () => {
      const { rows } = await system.db.query<{ owner: string }>('select owner from mirror_sync.account');
      return rows[0]?.owner !== 'somebody';
    });
    // While it is claimed it can't be cancelled: it is put back at once.
    await eventually('the cancellation', async () => {
      await system.db.query('select mirror.cancel_submission(max(submission_id)) from mirror.submissions');
      return true;
    });
    expect(await waiting.ended).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/cancelled\n$/) as string,
    });
  });

  it('does not take what it queues for something old, however long no daemon ran', async () => {
    await system.db.query(`update mirror_sync.installation set alive_at = now() - interval '1 hour'`);
    expect(await run('submit', 'enrich', ...NOTHING)).toMatchObject({ code: 0 });
  });

  it.each([
    ['an operation there is not', ['enrch'], 'unknown operation "enrch" (did you mean enrich?)'],
    ['a missing payload', ['research'], "To send an empty one on purpose: --data '{}'"],
    ['a missing target', ['list_analyze'], 'list_analyze needs a target_id: the list_id of a list'],
    ['a target where there is none', ['enrich', ...NOTHING, '--id', '1'], 'enrich takes no target_id'],
    ['an account there is not', ['enrich', ...NOTHING, '--user', '7'], 'account 7 is not mirrored here'],
    [
      'a user that is no number',
      ['enrich', ...NOTHING, '--user', 'x'],
      '--user: "x" is not a user_id, which is a number',
    ],
    ['a payload that is no JSON', ['enrich', '--data', '{'], '--data is not JSON'],
    [
      'a payload that Postgres has no value for',
      ['enrich', '--data', String.raw`{"a": "\u0000"}`],
      'research-mirror: ',
    ],
    ['a file that is not there', ['enrich', '--data', '@nowhere.json'], "--data: can't read nowhere.json"],
    ['a key with another payload', ['enrich', ...NOTHING, '--key', 'k'], "idempotency_key 'k' is that of submission"],
  ])('%s is wrong usage, and queues nothing', async (_, args, message) => {
    const before = (await rows()).length;
    const { code, stdout, stderr } = await run('submit', ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(await rows()).toHaveLength(before);
  });
});

describe('submit beside a running daemon', () => {
  it('is carried out by the daemon', async () => {
    const daemon = await system.daemon(USUAL);
    const { code, stdout } = await run('submit', 'clay_enrich', '--data', '{"by": "daemon"}');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toHaveProperty('object');
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });

  it('is carried out by the command when the daemon dies before it', async () => {
    // This daemon holds the queue; the command does not.
    const daemon = await system.daemon({ ...USUAL, MIRROR_CREDITS_FLOOR: '1000000000' });
    const waiting = begin(['submit', 'enrich', '--data', '{"after": "death"}']);
    await waiting.until('fewer credits than MIRROR_CREDITS_FLOOR');
    await daemon.stop('SIGKILL');
    const { code, stderr } = await waiting.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/accepted \(20\d\)\n$/) });
    const sent = await system.sandbox.control.operations();
    expect(sent.filter((each) => JSON.stringify(each).includes('death'))).toHaveLength(1);
  });
});
