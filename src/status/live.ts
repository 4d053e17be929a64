import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Answers } from './answers.ts';
import { reportView, unavailable } from './page/view.ts';

/** Milliseconds between two reports. */
const EVERY_MS = 2_000;

/**
 * Server-sent events for open pages: `view`, the page's content as HTML, each time that it changed. Ends when the
 * reader goes or the server stops; browsers then try again by themselves.
 */
export function liveStream(
  c: Context,
  options: { readonly answers: Answers; readonly clock: Clock; readonly stopped: AbortSignal },
): Response {
  if (c.req.method === 'HEAD') return c.body(null, 200, { 'content-type': 'text/event-stream' });
  return streamSSE(c, async (stream) => {
    const gone = new AbortController();
    stream.onAbort(() => gone.abort());
    const over = AbortSignal.any([gone.signal, options.stopped]);
    let shown = '';
    while (!over.aborted) {
      const answer = await options.answers.report();
      const view = await ('report' in answer ? reportView(answer.report) : unavailable(answer.why));
      const data = String(view);
      if (data !== shown) await stream.writeSSE({ event: 'view', data });
      shown = data;
      await options.clock.sleep(EVERY_MS, over).catch(() => {});
    }
  });
}
