import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { Webhook } from 'standardwebhooks';
import { listen, type LoopbackServer } from '@research-mirror/runtime/testing/loopback-server';
import { createNotifyReceiver, problemTeller } from '../../../src/daemon/notifier.ts';
import { judge } from '../../../src/status/problems.ts';
import { Secret } from '../../../src/config/secret.ts';
import { type BriefProblem, createProblemStore } from '../../../src/daemon/problem-store.ts';
import type { AccountStatus, StatusReport } from '../../../src/status/status-report.ts';
import { testDatabase } from '../../support/databases/migrated-database.ts';
import { sampleAccount, sampleCollection, sampleProblem, sampleReport } from '../../support/processes/status-report.ts';

const database = testDatabase();
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const { signal } = new AbortController();

/** Verified messages: what began (+) and ended (-), with their IDs. */
let told: { readonly said: string; readonly id: string }[] = [];
let answers: number[] = [];
let server: LoopbackServer;
let receiver: ReturnType<typeof createNotifyReceiver>;
/** Milliseconds by the clocks of the daemons. */
let passed = 0;
const clock = {
  now: () => 1_800_000_000_000 + passed,
  monotonic: () => passed,
  sleep: () => Promise.reject(new Error('nothing sleeps')),
};

beforeAll(async () => {
  server = await listen((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const status = answers.shift() ?? 204;
      const id = String(request.headers['webhook-id']);
      const body = Buffer.concat(chunks).toString();
      const now = Math.floor(clock.now() / 1000);
      // The library would check by this machine's clock.
      expect(Number(request.headers['webhook-timestamp'])).toBe(now);
      const signature = new Webhook(SECRET).sign(id, new Date(now * 1000), body);
      expect(request.headers['webhook-signature']).toBe(signature);
      const { type, data } = JSON.parse(body) as { type: string; data: BriefProblem };
      told.push({ said: `${type === 'problem.began' ? '+' : '-'} ${data.what}`, id });
      response.writeHead(status).end();
    });
  });
  receiver = createNotifyReceiver({ url: `${server.url}/secret`, allowPrivate: true, userAgent: 'test' });
});
afterAll(async () => {
  await receiver.close();
  await server.close();
});
beforeEach(async () => {
  [told, answers] = [[], []];
  await database.db.sql`delete from ${database.db.stateTable('problem')}`;
});

type Problems = StatusReport['problems'];

/** A daemon that finds these problems. */
function daemon(problems: () => Problems, log: string[] = []): () => Promise<void> {
  const say = (line: unknown): void => void log.push(String(line));
  const tell = problemTeller({
    report: async () => {
      const { rows } = await database.db.sql<{ at: Date }>`select clock_timestamp() as at`;
      return { problems: problems(), at: String(rows[0]?.at.toISOString()) };
    },
    store: () => createProblemStore(database.db),
    receiver,
    secret: new Secret(SECRET),
    mirror: { schema: 'mirror', service: 'https://service.example', version: '1.2.3' },
    scrub: (text) => text,
    clock,
    log: { warn: say, info: say, debug: () => {} },
  });
  return () => tell(signal);
}

/** Time passes for the daemons, and for the rows in the database. */
async function pass(seconds: number): Promise<void> {
  passed += seconds * 1000;
  const moved = ['found_at', 'seen_at', 'over_at', 'told_at', 'over_told_at', 'retry_at'];
  const sets = moved.map((name) => `${name} = ${name} - interval '${seconds} s'`).join(', ');
  await database.db.raw(`update mirror_sync.problem set ${sets}`);
}

/** Looks each 20 s. */
async function during(seconds: number, ...daemons: (() => Promise<void>)[]): Promise<void> {
  for (let rest = seconds; rest > 0; rest -= 20) {
    await pass(20);
    for (const look of daemons) await look();
  }
}

const said = (): string[] => told.map((each) => each.said);

it('problems are told once when they begin and once when they end: an outage of 50 accounts is two messages, of two daemons', async () => {
  const outage = Array.from({ length: 50 }, (_, nth) => {
    const lastError = nth % 7 === 0 ? `GET /v1/lists returned 502: try ${nth}` : 'the service is down: answered 502';
    const collections = [sampleCollection({ state: 'failing', lastError })];
    return sampleAccount({ userId: String(nth), collections });
  });
  let accounts: readonly AccountStatus[] = [];
  const found = (): Problems =>
    judge(sampleReport({ accounts }), []).problems.filter(({ cause }) => cause !== 'nothing_mirrored');
  const both = [daemon(found), daemon(found)];
  await during(60, ...both);
  accounts = outage;
  await during(40, ...both);
  expect(said()).toEqual([]);
  await during(600, ...both);
  expect(said()).toEqual(['+ the service is down: answered 502']);
  accounts = outage.slice(3, 9);
  await during(40, ...both);
  accounts = [];
  await during(600, ...both);
  expect(said()).toEqual(['+ the service is down: answered 502', '- the service is down: answered 502']);
});

it('problems that lasted only a moment are not told', async () => {
  let problems: Problems = [sampleProblem()];
  const one = daemon(() => problems);
  await during(40, one);
  problems = [];
  await during(300, one);
  expect(said()).toEqual([]);
});

it('problems are told again with the same ID by any daemon if their sender does not know that they arrived', async () => {
  let problems: Problems = [sampleProblem()];
  const [one, two] = [daemon(() => problems), daemon(() => problems)];
  answers = [503];
  await during(80, one);
  // The first daemon is gone. After half a minute, the other one takes its message.
  await during(20, two);
  const [first] = told;
  expect(said()).toEqual(['+ polls are late']);
  await during(20, two);
  expect(told).toEqual([first, first]);
  problems = [];
  await during(200, two);
  expect(told.slice(2)).toEqual([{ said: '- polls are late', id: first?.id.replace('began', 'ended') }]);
});

it('problems are told by one of several daemons that look at the same moment', async () => {
  const one = daemon(() => [sampleProblem()]);
  answers = [503];
  await during(80, one);
  await pass(60);
  const taken = await Promise.all(Array.from({ length: 6 }, () => createProblemStore(database.db).take()));
  expect(taken.filter((each) => each !== undefined)).toHaveLength(1);
});

it('problems are told in order, begin before end, however long the receiver is away, which is logged once', async () => {
  const log: string[] = [];
  let problems: Problems = [sampleProblem()];
  const one = daemon(() => problems, log);
  answers = Array.from({ length: 8 }, () => 503);
  await during(600, one);
  problems = [];
  await during(3_000, one);
  expect(said()).toEqual([...Array.from({ length: 9 }, () => '+ polls are late'), '- polls are late']);
  expect(new Set(told.slice(0, 9).map(({ id }) => id)).size).toBe(1);
  const failed = /^a message to MIRROR_NOTIFY_URL is retried within 5 minutes: .*127.0.0.1:\d+ answered with 503$/;
  const reached = /^messages reach 127.0.0.1:\d+ again$/;
  expect(log).toEqual([expect.stringMatching(failed), expect.stringMatching(reached)]);
  expect(log.join()).not.toContain('secret');
});

it('problems are told ten times in an hour at most', async () => {
  let nth = 0;
  const one = daemon(() => (nth % 2 === 0 ? [sampleProblem({ what: `no ${'x'.repeat(nth)}` })] : []));
  for (; nth < 24; nth += 1) await during(140, one);
  for (const sign of ['+', '-']) expect(said().filter((each) => each.startsWith(sign))).toHaveLength(10);
});

it('problems are told from memory if the database is away for a minute, with one message for its end', async () => {
  const DOWN = 'the database can’t be reached: refused';
  let away = true;
  const look = daemon(() => {
    if (away) throw new Error(DOWN);
    return [];
  });
  await during(60, look);
  expect(said()).toEqual([]);
  answers = [500];
  await during(1_200, look);
  away = false;
  await during(60, look);
  expect(said()).toEqual([`+ ${DOWN}`, `+ ${DOWN}`, `- ${DOWN}`]);
  expect(told[0]?.id).toBe(told[1]?.id);
});
