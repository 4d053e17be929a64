import { afterEach, describe, expect, it } from 'vitest';
import { submitLoop } from '../../../src/app/accounts/submit-loop.ts';
import { openInstallation } from '../../../src/db/installation/installation.ts';
import { KeyRefused } from '../../../src/model/errors.ts';
import { OPERATION_NAMES, TARGETED_OPERATIONS, type OperationName } from '../../../src/model/submission.ts';
import { type Clock, systemClock } from '@research-mirror/runtime/clock';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { Stopped } from '@research-mirror/runtime/service';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createTestAccount, type TestAccount } from '../../support/sync/read-account.ts';

// Operations from SQL to the emulated service: real Postgres, real HTTP, the account as the daemon composes it.

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** The budget's windows and the waits between attempts pass twenty times as fast; the network's do not. */
const FAST: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() * 20,
  sleep: (ms, signal) => systemClock.sleep(ms / 20, signal),
};

interface Row {
  readonly id: string;
  readonly operation: OperationName;
  readonly state: string;
  readonly response: string | null;
  readonly status: number | null;
  readonly error: string | null;
  readonly request: string;
}

async function submitting(
  switches: Partial<SandboxOptions> = {},
  clock: Clock = systemClock,
  env: Readonly<Record<string, string>> = {},
) {
  const account = await createTestAccount(switches, clock, env);
  const { db } = account.database;
  const submit = { enabled: true, maxQueued: 10_000 };
  await openInstallation({ db, host: undefined, submit, clock: systemClock });
  const bell = new Doorbell();
  /** Starts the loop; resolves with what ended it. */
  const start = (): Promise<unknown> => {
    const stop = new AbortController();
    const ended = submitLoop(account.current, account.parts, { bell })(stop.signal).catch(
      (error: unknown) => error,
    );
    closing.push(async () => {
      stop.abort(new Stopped('the test'));
      await ended;
    });
    return ended;
  };
  closing.push(() => account.close());
  const ended = start();

  const rows = (): Promise<Row[]> =>
    account.query<Row>(`select submission_id as id, operation, state, response::text as response, error,
      response_status as status, _request_id as request from mirror.submissions order by submission_id`);
  const allDone = (): Promise<Row[]> =>
    eventually('every submission to end', async () => {
      const all = await rows();
      return all.every(({ state }) => !['queued', 'sending'].includes(state)) && all;
    });
  return { account, bell, ended, start, rows, allDone };
}

async function queue(account: TestAccount, operation: OperationName, payload: object | string = {}) {
  const json = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const target = TARGETED_OPERATIONS.includes(operation)
    ? `, target_id => '${await targetOf(account, operation)}'`
    : '';
  await account.query(`select mirror.submit('${operation}', '${json}'${target})`);
}

/** An ID that the service knows. */
async function targetOf({ sandbox }: TestAccount, operation: OperationName): Promise<string> {
  const collection = operation === 'sequence' ? 'research_jobs' : 'lists';
  const [item = ''] = await sandbox.control.truth({ collection });
  const { job_id, list_id } = JSON.parse(item) as { job_id?: number; list_id?: number };
  return String(job_id ?? list_id);
}

describe('an operation queued from SQL', () => {
  it('is carried out once, whichever it is: no digit is lost, its answer is stored whole and hints what it names', async () => {
    // Three of them share a limit of two a minute.
    const { account, bell, allDone } = await submitting({}, FAST);
    const payload = '{"company_url": "https://é.example", "big": 90071992547409931234567890, "one": 1.0}';
    for (const operation of OPERATION_NAMES) await queue(account, operation, payload);
    bell.ring();
    const rows = await allDone();
    expect(rows.map(({ state, status, error }) => [state, status, error])).toEqual(
      rows.map(() => ['accepted', 201, null]),
    );
    const done = await account.sandbox.control.operations();
    expect(done).toHaveLength(OPERATION_NAMES.length);
    for (const row of rows) {
      const effect = done.find(({ idempotencyKey }) => idempotencyKey === row.request);
      expect(JSON.parse(effect?.payload ?? '')).toEqual(JSON.parse(payload));
      for (const digits of ['90071992547409931234567890', '1.0']) expect(effect?.payload).toContain(digits);
      expect(JSON.parse(row.response ?? '')).toBeTypeOf('object');
    }
    // The row need not wait for a poll.
    const research = rows.find(({ operation }) => operation === 'research');
    const { job_id } = JSON.parse(research?.response ?? '') as { job_id: number };
    const hints = await account.query(`select collection, key from mirror_sync.hint`);
    expect(hints).toContainEqual({ collection: 'research_jobs', key: String(job_id) });
  });

  it('is not sent once it is cancelled', async () => {
    const { account, bell, allDone } = await submitting({}, systemClock, { MIRROR_CREDITS_FLOOR: '1000' });
    await account.read('account', 'poll');
    await account.query(`update mirror.account set credits = 3`);
    await queue(account, 'list');
    await queue(account, 'list');
    bell.ring();
    const waiting = await eventually('the rows to say why they wait', async () =>
      account
        .query<Row>(`select * from mirror.submissions where error like '%MIRROR_CREDITS_FLOOR%'`)
        .then((rows) => rows.length === 2 && rows),
    );
    expect(waiting.map(({ state }) => state)).toEqual(['queued', 'queued']);
    await account.query(`select mirror.cancel_submission(min(submission_id)) from mirror.submissions`);
    await account.query(`update mirror.account set credits = 3000`);
    bell.ring();
    const rows = await allDone();
    expect(rows.map(({ state, error }) => [state, error])).toEqual([
      ['cancelled', expect.stringContaining('MIRROR_CREDITS_FLOOR')],
      ['accepted', null],
    ]);
    expect(await account.sandbox.control.operations()).toHaveLength(1);
  });
});

describe('a service that refuses', () => {
  it('leaves the submission rejected, or its outcome unknown', async () => {
    const { account, bell, allDone } = await submitting({ fault402: 1, faultRoutes: 'posts' });
    await queue(account, 'research');
    bell.ring();
    await allDone();
    await account.sandbox.control.change({ fault402: 0, fault503: 1 });
    await queue(account, 'research');
    bell.ring();
    expect(await allDone()).toMatchObject([
      { state: 'rejected', status: 402, error: expect.stringContaining('answered 402') as string },
      { state: 'unknown', status: 503, error: expect.stringContaining('answered 503') as string },
    ]);
  });

  it('a key for a while has the submission queued until the key is good again', async () => {
    const { account, bell, rows, allDone, ended, start } = await submitting({});
    // Its owner is known: the refusal comes with the submission itself.
    await account.current.source.ping({ signal: new AbortController().signal });
    await account.sandbox.control.change({ faultKey: 1 });
    await queue(account, 'research');
    bell.ring();
    // As the daemon does: the loop ends with the account, whose key a ping found refused, too.
    expect(await ended).toBeInstanceOf(KeyRefused);
    const [row] = await rows();
    expect(row).toMatchObject({ state: 'queued', error: expect.stringContaining('answered 401') as string });
    expect(await account.sandbox.control.operations()).toEqual([]);
    await account.sandbox.control.change({ faultKey: 0 });
    await account.current.source.ping({ signal: new AbortController().signal });
    void start();
    expect(await allDone()).toMatchObject([{ state: 'accepted', error: null }]);
    expect(await account.sandbox.control.operations()).toHaveLength(1);
  });
});

describe('lost answers', () => {
  it('never make an operation happen twice, nor lose one', async () => {
    const faults = {
      faultReset: 0.15,
      faultResetEarly: 0.1,
      faultTruncated: 0.1,
      fault500: 0.1,
      fault408: 0.05,
      faultGarbage: 0.1,
      faultEffect: 'done',
      faultRoutes: 'posts',
    } as const;
    const { account, bell, allDone } = await submitting(faults, FAST);
    const operations = ['research', 'sequence', 'clay_enrich', 'sequence'] as const;
    for (let i = 0; i < 40; i++) await queue(account, operations[i % 4] ?? 'research', { marker: i });
    bell.ring();
    const rows = await allDone();
    const effects = Map.groupBy(
      await account.sandbox.control.operations(),
      ({ idempotencyKey }) => idempotencyKey,
    );
    expect([...effects.values()].filter((each) => each.length > 1)).toEqual([]);
    for (const { request, state } of rows) {
      if (state === 'accepted') expect(effects.get(request)).toHaveLength(1);
      else expect(state).toBe('unknown');
    }
    const requests = (await account.sandbox.control.log()).filter(({ route }) => route.startsWith('POST'));
    expect(requests.length).toBeLessThanOrEqual(rows.length);
    expect(rows.some(({ state }) => state === 'unknown')).toBe(true);
  });
});
