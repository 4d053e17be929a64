/** The listener for people inside: routes, their sources, and the token. */

import { askedAtMost } from '@research-mirror/runtime/asked-at-most';
import type { Clock } from '@research-mirror/runtime/clock';
import { httpListener, type HttpReply, type HttpRequest } from '@research-mirror/runtime/http-listener';
import type { Logger } from '@research-mirror/runtime/logger';
import { makeFolder } from '@research-mirror/runtime/make-folder';
import { messageOf } from '@research-mirror/runtime/message';
import { Notes } from '@research-mirror/runtime/notes';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { listenProblem } from '../events/webhook-server.ts';
import { lookupRoute, type Lookups } from './lookup-routes.ts';
import type { Hit } from './lookup-store.ts';
import type { Metrics } from './metrics.ts';
import { rootOf } from './page-parts.ts';
import { htmlReply, isLoopbackHostHeader, isLoopbackName, jsonReply, raw, reply, tokenCheck } from './reply.ts';
import { reportView, statusPage, wholeAccount } from './status-page.ts';
import type { StatusReport } from './status-report.ts';

/** Whether the database is migrated and can be written. */
export type Ready = { readonly ok: true } | { readonly ok: false; readonly why: string };

/** Longer than any query may take. */
const ANSWER_MS = 30_000;

export type StatusServer = ReturnType<typeof createStatusServer>;

/** The listener for people inside: status page, search, rows, `/api/…`, `/metrics`, `/healthz`, `/readyz`. */
export function createStatusServer(options: {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Of page, API and metrics. Undefined, on loopback only: requests need a loopback name in `Host`. */
  readonly token: string | undefined;
  /** Called at most once a second for all viewers, and one at a time while it fails. */
  readonly status: () => Promise<StatusReport>;
  /** The account's last changed rows, the newest first. */
  readonly latestRows: (userId: string) => Promise<readonly Hit[]>;
  readonly ready: () => Promise<Ready>;
  readonly lookups: Lookups;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Logger;
}) {
  const { host, port, token, clock, log } = options;
  if (token === undefined && !isLoopbackName(host))
    throw new RangeError(`the status page on ${host} needs a token: other machines can reach it`);
  const place = { what: 'the status page', host, port };
  const variables = { hostVariable: 'MIRROR_HTTP_HOST', portVariable: 'MIRROR_HTTP_PORT' };
  const server = httpListener({
    name: 'status server',
    ...place,
    clock,
    notes: new Notes(clock, log),
    answerMs: ANSWER_MS,
    explain: (error) => listenProblem(error, { ...place, ...variables }),
    answer: routes(options),
    refusal: (status, error) => jsonReply({ error }, status),
    onDefect: (error, target) =>
      log.error({ err: error, path: target.split('?', 1)[0] }, 'the status server could not answer'),
  });
  /** Address of the page, known once started. */
  const url = (): string => {
    const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
    // The reader of the line opens it on this machine.
    const local = name === '0.0.0.0' || name === '[::]' ? 'localhost' : name;
    return `http://${local}:${server.address().port}/`;
  };
  return { ...server, url };
}

/** Paths and their answers (docs/watch.md). Probes need no token for `/healthz` and `/readyz`. */
function routes(options: Parameters<typeof createStatusServer>[0]) {
  const { lookups, metrics, token } = options;
  const answers = answersOf(options);
  const permitted = token === undefined ? undefined : tokenCheck(token);
  const refusal = ({ headers }: HttpRequest): HttpReply | undefined => {
    if (permitted === undefined && !isLoopbackHostHeader(headers.host)) {
      const error = 'open this page as http://localhost, or set MIRROR_STATUS_TOKEN to use other names';
      return jsonReply({ error }, 403);
    }
    if (permitted === undefined || permitted(headers.authorization)) return undefined;
    const error = 'the token is missing or wrong: send it as a bearer token, or as the password of any user name';
    return jsonReply({ error }, 401, {
      'www-authenticate': 'Basic realm="research-mirror", charset="UTF-8"',
    });
  };

  /** @param userId undefined: the first page @param isOpen the page is open and asks for its new content */
  const page = async (userId: string | undefined, isOpen: boolean): Promise<HttpReply> => {
    const { report, why } = await answers.report();
    const account = wholeAccount(report, userId);
    const latestRows =
      account === undefined || why !== undefined ? undefined : await answers.latestRows(account.userId);
    // A third of the text is indentation.
    const view = raw(String(reportView({ report, userId, latestRows, why })).replaceAll(/\n\s+/g, '\n'));
    const isThere = userId === undefined || account !== undefined;
    const status = why !== undefined ? 503 : isThere ? 200 : 404;
    return htmlReply((nonce) => (isOpen ? view : statusPage(view, nonce, rootOf(userId))), status);
  };

  return async (request: HttpRequest): Promise<HttpReply> => {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return jsonReply({ error: 'only GET and HEAD are allowed here' }, 405, { allow: 'GET, HEAD' });
    // A proxy may send a whole address. A path may begin with two slashes; decoding it could add more.
    const { target } = request;
    const address = target.startsWith('/') ? `http://localhost${target}` : target;
    const url = /^https?:\/\//i.test(address) ? URL.parse(address) : null;
    if (url === null) return jsonReply({ error: 'the address is invalid' }, 400);
    const { pathname: path, searchParams: query } = url;
    if (path === '/healthz') return jsonReply({ ok: true });
    if (path === '/readyz') {
      const ready = await answers.ready();
      return jsonReply(ready, ready.ok ? 200 : 503);
    }
    const refused = refusal(request);
    if (refused !== undefined) return refused;
    const [, userId] = /^\/accounts\/(-?\d{1,19})$/.exec(path) ?? [];
    if (path === '/' || userId !== undefined) return page(userId, query.has('view'));
    if (path === '/api/status') {
      const { report, why } = await answers.report();
      return why === undefined ? jsonReply(report) : jsonReply({ error: why }, 503);
    }
    if (path === '/metrics') {
      const [{ report, why }, ready] = await Promise.all([answers.report(), answers.ready()]);
      const text = await metrics.render(why === undefined ? report : undefined, ready.ok);
      return reply(metrics.contentType, text);
    }
    const lookup = lookupRoute(path, lookups);
    return lookup?.(query) ?? jsonReply({ error: 'not found: see / or /api/status' }, 404);
  };
}

/** Age up to which a report serves further requests, ms; "not ready" less: who starts the daemon asks in a loop. */
const FRESH_MS = 1_000;
const UNREADY_MS = 50;
/** Longest time for an answer, ms: orchestrators' probes wait no longer. */
const PATIENCE_MS = 4_000;

/** The routes' sources: they never reject and never hang. */
export function answersOf(
  sources: Pick<Parameters<typeof createStatusServer>[0], 'status' | 'latestRows' | 'ready' | 'clock'>,
) {
  const { clock } = sources;
  const patiently = async <T>(asked: Promise<T>): Promise<T> => {
    const answered = new AbortController();
    const late = clock.sleep(PATIENCE_MS, answered.signal).then(() => {
      throw new Error(`the database did not answer within ${PATIENCE_MS / 1000} s`);
    });
    late.catch(() => {});
    try {
      return await Promise.race([asked, late]);
    } finally {
      answered.abort();
    }
  };
  const status = askedAtMost(clock, sources.status, () => FRESH_MS);
  const ready = askedAtMost(clock, sources.ready, ({ ok }) => (ok ? FRESH_MS : UNREADY_MS));
  let last: StatusReport | undefined;
  return {
    /** The newest report; `why`: it is old, as no new one could be made. */
    report: async (): Promise<{ readonly report: StatusReport | undefined; readonly why?: string }> => {
      try {
        last = await patiently(status());
        return { report: last };
      } catch (error) {
        return { report: last, why: messageOf(error) };
      }
    },
    /** @returns undefined if they can't be read now */
    latestRows: (userId: string): Promise<readonly Hit[] | undefined> =>
      patiently(sources.latestRows(userId)).catch(() => undefined),
    ready: (): Promise<Ready> => patiently(ready()).catch((error: unknown) => ({ ok: false, why: messageOf(error) })),
  };
}

/**
 * Token of page, API and metrics: the configured one; none on loopback; elsewhere one that is made once and kept in the
 * data folder. The terminal shows it when it is made. The log never has it.
 * @param hide removes a secret from all later output
 * @param toTerminal shows a person a line; undefined without a terminal
 */
export async function statusToken(
  { http: { host, token }, dataDir }: Pick<Config, 'http' | 'dataDir'>,
  hide: (secret: string) => void,
  log: Logger,
  toTerminal: ((line: string) => void) | undefined,
): Promise<string | undefined> {
  if (token !== undefined) return token.reveal();
  if (isLoopbackName(host)) return undefined;
  const file = join(dataDir, 'status-token');
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (kept !== '') {
    hide(kept);
    log.info(`the status page requires the token in ${file}`);
    return kept;
  }
  const made = randomBytes(24).toString('base64url');
  toTerminal?.(`token for the status page: ${made}`);
  hide(made);
  try {
    await makeFolder(dataDir);
    await writeFile(file, `${made}\n`, { mode: 0o600 });
    log.warn(`the status page on ${host} requires a token: a new one is in ${file}`);
  } catch (error) {
    const shown = toTerminal === undefined ? ' It was shown nowhere.' : '';
    log.warn(
      `the token for the status page on ${host} is for this run only (${messageOf(error)}).${shown} ` +
        'Set MIRROR_STATUS_TOKEN to choose one',
    );
  }
  return made;
}
