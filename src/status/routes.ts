import type { Clock } from '@research-mirror/runtime/clock';
import type { HttpReply, HttpRequest } from '@research-mirror/runtime/http-listener';
import { isLoopbackHostHeader, tokenCheck } from './access.ts';
import type { Answers } from './answers.ts';
import { type Html, raw } from './html.ts';
import { lookupRoute, type Lookups } from './lookup/lookup-routes.ts';
import type { Metrics } from './metrics.ts';
import { statusPage } from './page/status-page.ts';
import { reportView, wholeAccount } from './page/view.ts';
import { htmlReply, jsonReply, type PageQuestion, reply, type Route } from './reply.ts';

export interface RoutesOptions {
  readonly answers: Answers;
  readonly lookups: Lookups;
  readonly metrics: Metrics;
  /** What page, API and metrics ask for; undefined: nothing, and only loopback's names in `Host` are answered. */
  readonly token: string | undefined;
  readonly clock: Clock;
}

/** Milliseconds between two views of an open page. */
const EVERY_MS = 2_000;

/**
 * Paths and their answers (docs/operations.md, "Is it healthy"). `/healthz` and `/readyz` need no token: probes have
 * none.
 */
export function createRoutes(options: RoutesOptions): (request: HttpRequest) => Promise<HttpReply> {
  const { answers, token } = options;
  const permitted = token === undefined ? undefined : tokenCheck(token);
  const refusal = ({ headers }: HttpRequest): HttpReply | undefined => {
    if (permitted === undefined && !isLoopbackHostHeader(headers.host)) {
      const error = 'open this page as http://localhost, or set MIRROR_STATUS_TOKEN to use other names';
      return jsonReply({ error }, 403);
    }
    if (permitted === undefined || permitted(headers.authorization)) return undefined;
    const error = 'the token is missing or wrong: send it as bearer, or as password with any user name';
    return jsonReply({ error }, 401, {
      'www-authenticate': 'Basic realm="research-mirror", charset="UTF-8"',
    });
  };
  return async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return jsonReply({ error: 'only GET and HEAD are answered here' }, 405, { allow: 'GET, HEAD' });
    }
    const asked = questionOf(request.target);
    if (asked === undefined) return jsonReply({ error: 'this is no address' }, 400);
    if (asked.path === '/healthz') return jsonReply({ ok: true });
    if (asked.path === '/readyz') {
      const ready = await answers.ready();
      return jsonReply(ready, ready.ok ? 200 : 503);
    }
    const refused = refusal(request);
    if (refused !== undefined) return refused;
    const route = pageRoute(asked.path, options) ?? lookupRoute(asked.path, options.lookups);
    return route?.(asked) ?? jsonReply({ error: 'nothing is here: see / or /api/status' }, 404);
  };
}

/** @returns undefined for an address that is none */
function questionOf(target: string): PageQuestion | undefined {
  // A proxy may be asked with a whole address; of two slashes at the beginning the rest is no host.
  const address = target.startsWith('/') ? `http://localhost${target}` : target;
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) return undefined;
  const { pathname, searchParams } = new URL(address);
  return { path: pathname, query: searchParams };
}

function pageRoute(path: string, options: RoutesOptions): Route | undefined {
  const { answers, metrics } = options;
  const [, userId] = /^\/accounts\/(-?\d{1,19})$/.exec(path) ?? [];
  if (path === '/' || userId !== undefined) {
    return async () => {
      const { view, status } = await viewOf(answers, userId);
      return htmlReply((nonce) => statusPage(view, nonce, userId === undefined ? '' : '../'), status);
    };
  }
  switch (path) {
    case '/metrics':
      return async () => {
        const [{ report, why }, ready] = await Promise.all([answers.report(), answers.ready()]);
        return reply(
          metrics.contentType,
          await metrics.render(why === undefined ? report : undefined, ready.ok),
        );
      };
    case '/api/status':
      return async () => {
        const { report, why } = await answers.report();
        return why === undefined ? jsonReply(report) : jsonReply({ error: why }, 503);
      };
    case '/live':
      return async ({ query }) => liveReply(query.get('account') ?? undefined, options);
    default:
      return undefined;
  }
}

/** @param userId of the account whose page it is; undefined: the first page */
async function viewOf(
  answers: Answers,
  userId: string | undefined,
): Promise<{ readonly view: Html; readonly status: number }> {
  const { report, why } = await answers.report();
  const account = wholeAccount(report, userId);
  const details =
    account === undefined || why !== undefined ? undefined : await answers.account(account.userId);
  // Indentation would be a third of it.
  const view = raw(String(reportView({ report, userId, details, why })).replaceAll(/\n\s+/g, '\n'));
  const isThere = userId === undefined || account !== undefined;
  return { view, status: why !== undefined ? 503 : isThere ? 200 : 404 };
}

/**
 * Server-sent events for open pages: `view`, the page's content as HTML, each time that it changed. Ends when the
 * reader goes or the server stops; browsers then try again by themselves.
 */
function liveReply(userId: string | undefined, { answers, clock }: RoutesOptions): HttpReply {
  return reply('text/event-stream', async (write, over) => {
    let shown = '';
    while (!over.aborted) {
      const data = String((await viewOf(answers, userId)).view);
      if (data !== shown) await write(serverSentEvent('view', data));
      shown = data;
      await clock.sleep(EVERY_MS, over).catch(() => {});
    }
  });
}

function serverSentEvent(event: string, data: string): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  return `event: ${event}\n${lines.join('')}\n`;
}
