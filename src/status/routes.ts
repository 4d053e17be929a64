import type { Clock } from '@research-mirror/runtime/clock';
import { isLoopbackHostHeader, tokenCheck } from './access.ts';
import type { Answers } from './answers.ts';
import { contentPolicy } from './content-policy.ts';
import { type PageQuestion, htmlReply, jsonReply, type PageReply, type Route } from './http/page-reply.ts';
import { liveReply } from './live.ts';
import { lookupRoutes, type Lookups } from './lookup/lookup-routes.ts';
import type { Metrics } from './metrics.ts';
import { statusPage } from './page/status-page.ts';
import { reportView, unavailable } from './page/view.ts';

export interface RoutesOptions {
  readonly answers: Answers;
  readonly lookups: Lookups;
  readonly metrics: Metrics;
  /** What page, API and metrics ask for; undefined: nothing. */
  readonly token: string | undefined;
  /** Refuses other names than loopback's in `Host`: the only protection of a page without token. */
  readonly onlyLoopbackNames: boolean;
  readonly clock: Clock;
  /** Ends live pages. */
  readonly stopped: AbortSignal;
}

/**
 * Paths and their answers (docs/operations.md, "Is it healthy"). `/healthz` and `/readyz` need no token: probes have
 * none.
 */
export function createRoutes(options: RoutesOptions): Route {
  const permitted = options.token === undefined ? undefined : tokenCheck(options.token);
  const refusal = ({ header }: PageQuestion): PageReply | undefined => {
    if (options.onlyLoopbackNames && !isLoopbackHostHeader(header('host'))) {
      const error = 'open this page as http://localhost, or set MIRROR_STATUS_TOKEN to use other names';
      return jsonReply({ error }, 403);
    }
    if (permitted === undefined || permitted(header('authorization'))) return undefined;
    const error = 'the token is missing or wrong: send it as bearer, or as password with any user name';
    return jsonReply({ error }, 401, {
      'www-authenticate': 'Basic realm="research-mirror", charset="UTF-8"',
    });
  };
  const probes = probeRoutes(options);
  const pages = pageRoutes(options);
  const lookups = lookupRoutes(options.lookups);
  return (asked) => {
    const probe = probes[asked.path];
    if (probe !== undefined) return probe(asked);
    const refused = refusal(asked);
    if (refused !== undefined) return refused;
    const route = pages[asked.path] ?? lookups(asked.path);
    return route?.(asked) ?? jsonReply({ error: 'nothing is here: see / or /api/status' }, 404);
  };
}

function probeRoutes({ answers }: RoutesOptions): Readonly<Partial<Record<string, Route>>> {
  return {
    '/healthz': () => jsonReply({ ok: true }),
    '/readyz': async () => {
      const ready = await answers.ready();
      return jsonReply(ready, ready.ok ? 200 : 503);
    },
  };
}

function pageRoutes(options: RoutesOptions): Readonly<Partial<Record<string, Route>>> {
  const { answers, metrics } = options;
  return {
    '/metrics': async () => {
      const [answer, ready] = await Promise.all([answers.report(), answers.ready()]);
      const body = await metrics.render('report' in answer ? answer.report : undefined, ready.ok);
      return { status: 200, headers: { 'content-type': metrics.contentType }, body };
    },
    '/api/status': async () => {
      const answer = await answers.report();
      return 'report' in answer ? jsonReply(answer.report) : jsonReply({ error: answer.why }, 503);
    },
    '/': async () => {
      const answer = await answers.report();
      const { nonce, policy } = contentPolicy();
      const view = 'report' in answer ? reportView(answer.report) : unavailable(answer.why);
      const page = String(await statusPage(view, nonce));
      return htmlReply(page, policy, 'report' in answer ? 200 : 503);
    },
    '/live': () => liveReply(options),
  };
}
