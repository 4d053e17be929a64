import { createTransport, type HttpAnswer, type Transport } from '../../../src/service/transport.ts';
import type { ServiceConfig } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load.ts';
import type { Database } from '../../../src/postgres/pool.ts';
import { ensureAccount } from '../../../src/postgres/lease.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import type { SyncObserver } from '../../../src/sync/reading-context.ts';
import { AnswerLog } from './source/answer-log.ts';
import type { Source } from './source/source.ts';
import { quietParts, takeAndOpen } from '../../support/sync/quiet-parts.ts';

export type MirrorAccount = Awaited<ReturnType<typeof openMirrorAccount>>;

/** One account as the daemon composes it, in this process: real Postgres, real HTTP, every request within reach. */
export async function openMirrorAccount({
  database: { db, url },
  source,
  key,
  userId,
  settings,
  observer,
  tell,
}: {
  readonly database: Database & { readonly url: string };
  readonly source: Source;
  readonly key: string;
  readonly userId: string;
  readonly settings: Partial<Pick<ServiceConfig, 'gracePeriodMs' | 'deletes' | 'history'>>;
  readonly observer: SyncObserver;
  readonly tell: (line: string) => void;
}) {
  const env = {
    DATABASE_URL: url,
    MIRROR_API_URL: source.url,
    MIRROR_API_KEY: key,
    MIRROR_SCHEMA: db.schema,
  };
  const config: ServiceConfig = { ...loadConfig(env, 'service'), ...settings };
  const wire = createTransport({ baseUrl: source.url, clock: systemClock, userAgent: 'attack' });
  let processes = 0;
  const open = async () => {
    const parts = await quietParts(config, db, transport);
    processes += 1;
    // No row of its own: anybody may take the account at any time.
    const processId = `attack ${userId} ${processes}`;
    return takeAndOpen({ ...parts, processId, observers: [observer] }, userId);
  };
  const transport: Transport = {
    ...wire,
    async get(path, key, signal, asked) {
      account.requests += 1;
      account.onRequest(path);
      const sentAt = Date.now();
      const answer = await wire.get(path, key, signal, asked);
      const { status, headers, bodyError, text } = answer;
      const age = headers['age'] === undefined ? '' : ` of age ${String(headers['age'])}`;
      tell(`answered ${status}${age} ${path}: ${summaryOf(answer)}`);
      if (status === 200 && bodyError === undefined) account.answers.note(path, sentAt, Date.now(), text);
      if (status === 404 && !path.includes('starting_after')) account.answers.note(path, sentAt, Date.now(), '');
      return answer;
    },
  };
  await ensureAccount(db, userId, new Date());
  const account = {
    answers: new AnswerLog(),
    /** Called before each request goes out. */
    onRequest: (_path: string): void => {},
    /** Requests sent so far. */
    requests: 0,
    /** What is open now: `reopen` replaces it. */
    current: await open(),
    /** As a new process goes on: nothing is left but what was committed. */
    async reopen() {
      await account.current.close();
      account.current = await open();
    },
    /** Another process takes the account while this one may be reading; that one is then `current`. */
    async takeOver() {
      const before = account.current;
      account.current = await open();
      await before.close();
    },
    async close() {
      await account.current.close();
      await wire.close();
    },
  };
  return account;
}

/** IDs on a page and what it says of more, short. */
function summaryOf({ text, bodyError }: HttpAnswer): string {
  if (bodyError !== undefined) return bodyError.message;
  const ids = [...text.matchAll(/\{"(?:\w+_)?id":"?([^",}]+)/g)].map(([, id]) => id);
  const more = /"has_more":(\w+)/.exec(text)?.[1] ?? 'not told';
  return ids.length === 0 ? text.slice(0, 100) : `${ids.join(' ')}, more ${more}`;
}
