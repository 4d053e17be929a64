import type { HttpBindings } from '@hono/node-server';
import { Hono, type Context } from 'hono';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Logger } from '@research-mirror/runtime/logger';
import { isLoopbackHostHeader, tokenCheck } from './access.ts';
import type { Answers } from './answers.ts';
import { contentPolicy } from './content-policy.ts';
import { liveStream } from './live.ts';
import { addLookupRoutes } from './lookup/lookup-routes.ts';
import type { Lookups } from './lookup/lookups.ts';
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
  readonly log: Logger;
  /** Ends live pages. */
  readonly stopped: AbortSignal;
}

/**
 * Paths and their answers (docs/operations.md, "Is it healthy"). `/healthz` and `/readyz` need no token: probes have
 * none.
 */
export function createRoutes(options: RoutesOptions): Hono<{ Bindings: HttpBindings }> {
  const { answers, metrics, log } = options;
  const app = new Hono<{ Bindings: HttpBindings }>();

  app.use(async (c, next) => {
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') {
      return c.json({ error: 'only GET and HEAD are answered here' }, 405, { allow: 'GET, HEAD' });
    }
    await next();
    c.header('Cache-Control', 'no-store');
    c.header('X-Content-Type-Options', 'nosniff');
    c.header('Referrer-Policy', 'no-referrer');
    c.header('Cross-Origin-Resource-Policy', 'same-origin');
    if (!c.res.headers.has('Content-Security-Policy')) {
      c.header('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'");
    }
    return undefined;
  });

  app.get('/healthz', (c) => c.json({ ok: true }));
  app.get('/readyz', async (c) => {
    const ready = await answers.ready();
    return c.json(ready, ready.ok ? 200 : 503);
  });

  const permitted = options.token === undefined ? undefined : tokenCheck(options.token);
  app.use(async (c, next) => {
    if (options.onlyLoopbackNames && !isLoopbackHostHeader(c.req.header('host'))) {
      return c.json(
        { error: 'open this page as http://localhost, or set MIRROR_STATUS_TOKEN to use other names' },
        403,
      );
    }
    if (permitted !== undefined && !permitted(c.req.header('authorization'))) {
      return c.json(
        { error: 'the token is missing or wrong: send it as bearer, or as password with any user name' },
        401,
        {
          'www-authenticate': 'Basic realm="research-mirror", charset="UTF-8"',
        },
      );
    }
    await next();
    return undefined;
  });

  app.get('/metrics', async (c) => {
    const [answer, ready] = await Promise.all([answers.report(), answers.ready()]);
    const text = await metrics.render('report' in answer ? answer.report : undefined, ready.ok);
    return c.body(text, 200, { 'content-type': metrics.contentType });
  });
  app.get('/api/status', async (c) => {
    const answer = await answers.report();
    return 'report' in answer ? c.json(answer.report) : c.json({ error: answer.why }, 503);
  });
  app.get('/', async (c) => {
    const answer = await answers.report();
    const { nonce, policy } = contentPolicy();
    c.header('Content-Security-Policy', policy);
    const view = 'report' in answer ? reportView(answer.report) : unavailable(answer.why);
    return c.html(statusPage(view, nonce), 'report' in answer ? 200 : 503);
  });
  app.get('/live', (c: Context) => liveStream(c, options));
  addLookupRoutes(app, options.lookups);

  app.notFound((c) => c.json({ error: 'nothing is here: see / or /api/status' }, 404));
  app.onError((error, c) => {
    log.error({ err: error, path: c.req.path }, 'the status server could not answer');
    return c.json({ error: 'internal error' }, 500);
  });
  return app;
}
