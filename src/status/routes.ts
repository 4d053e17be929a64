import { raw } from './html.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { isLoopbackHostHeader, tokenCheck } from './access.ts';
import type { Answers } from './answers.ts';
import { contentPolicy } from './content-policy.ts';
import { type PageQuestion, htmlReply, jsonReply, type PageReply, type Route } from './http/page-reply.ts';
import { lookupRoute, type Lookups } from './lookup/lookup-routes.ts';
import type { Metrics } from './metrics.ts';
import { statusPage } from './page/status-page.ts';
import { reportView, wholeAccount } from './page/view.ts';

export interface RoutesOptions {
  readonly answers: Answers;
  readonly lookups: Lookups;
  readonly metrics: Metrics;
  /** What page, API and metrics ask for; undefined: nothing, and only loopback's names in `Host` are answered. */
  readonly token: string | undefined;
  readonly clock: Clock;
  /** Ends live pages. */
  readonly stopped: AbortSignal;
}

/** Milliseconds between two views of an open page. */
const EVERY_MS = 2_000;

/**
 * Paths and their answers (docs/operations.md, "Is it healthy"). `/healthz` and `/readyz` need no token: probes have
 * none.
 */
export function createRoutes(options: RoutesOptions): Route {
  const { answers } = options;
  const permitted = options.token === undefined ? undefined : tokenCheck(options.token);
  const refusal = ({ header }: PageQuestion): PageReply | undefined => {
    if (permitted === undefined && !isLoopbackHostHeader(header('host'))) {
      const error = 'open this page as http://localhost, or set MIRROR_STATUS_TOKEN to use other names';
      return jsonReply({ error }, 403);
    }
    if (permitted === undefined || permitted(header('authorization'))) return undefined;
    const error = 'the token is missing or wrong: send it as bearer, or as password with any user name';
    return jsonReply({ error }, 401, {
      'www-authenticate': 'Basic realm="research-mirror", charset="UTF-8"',
    });
  };
  return async (asked) => {
    if (asked.path === '/healthz') return jsonReply({ ok: true });
    if (asked.path === '/readyz') {
      const ready = await answers.ready();
      return jsonReply(ready, ready.ok ? 200 : 503);
    }
    const refused = refusal(asked);
    if (refused !== undefined) return refused;
    const route = pageRoute(asked.path, options) ?? lookupRoute(asked.path, options.lookups);
    return route?.(asked) ?? jsonReply({ error: 'nothing is here: see / or /api/status' }, 404);
  };
}

function pageRoute(path: string, options: RoutesOptions): Route | undefined {
  const { answers, metrics } = options;
  const [, userId] = /^\/accounts\/(-?\d{1,19})$/.exec(path) ?? [];
  if (path === '/' || userId !== undefined) {
    return async () => {
      const { nonce, policy } = contentPolicy();
      const { view, status } = await viewOf(answers, userId);
      return htmlReply(
        String(statusPage(raw(view), nonce, userId === undefined ? '' : '../')),
        policy,
        status,
      );
    };
  }
  switch (path) {
    case '/metrics':
      return async () => {
        const [{ report, why }, ready] = await Promise.all([answers.report(), answers.ready()]);
        const body = await metrics.render(why === undefined ? report : undefined, ready.ok);
        return { status: 200, headers: { 'content-type': metrics.contentType }, body };
      };
    case '/api/status':
      return async () => {
        const { report, why } = await answers.report();
        return why === undefined ? jsonReply(report) : jsonReply({ error: why }, 503);
      };
    case '/live':
      return ({ query }) => liveReply(query.get('account') ?? undefined, options);
    default:
      return undefined;
  }
}

/** @param userId of the account whose page it is; undefined: the first page */
async function viewOf(
  answers: Answers,
  userId: string | undefined,
): Promise<{ readonly view: string; readonly status: number }> {
  const { report, why } = await answers.report();
  const account = wholeAccount(report, userId);
  const details =
    account === undefined || why !== undefined ? undefined : await answers.account(account.userId);
  const view = String(reportView({ report, userId, details, why }));
  const isThere = userId === undefined || account !== undefined;
  // Indentation would be a third of it.
  return { view: view.replaceAll(/\n\s+/g, '\n'), status: why !== undefined ? 503 : isThere ? 200 : 404 };
}

/**
 * Server-sent events for open pages: `view`, the page's content as HTML, each time that it changed. Ends when the
 * reader goes or the server stops; browsers then try again by themselves.
 */
function liveReply(userId: string | undefined, { answers, clock, stopped }: RoutesOptions): PageReply {
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    async body(write, gone) {
      const over = AbortSignal.any([gone, stopped]);
      let shown = '';
      while (!over.aborted) {
        const data = (await viewOf(answers, userId)).view;
        if (data !== shown) await write(serverSentEvent('view', data));
        shown = data;
        await clock.sleep(EVERY_MS, over).catch(() => {});
      }
    },
  };
}

function serverSentEvent(event: string, data: string): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  return `event: ${event}\n${lines.join('')}\n`;
}
