import type { Clock } from '@research-mirror/runtime/clock';
import type { Answers } from './answers.ts';
import type { PageReply } from './http/page-reply.ts';
import { reportView, unavailable } from './page/view.ts';

/** Milliseconds between two reports. */
const EVERY_MS = 2_000;

/**
 * Server-sent events for open pages: `view`, the page's content as HTML, each time that it changed. Ends when the
 * reader goes or the server stops; browsers then try again by themselves.
 */
export function liveReply(options: {
  readonly answers: Answers;
  readonly clock: Clock;
  readonly stopped: AbortSignal;
}): PageReply {
  const headers = { 'content-type': 'text/event-stream' };
  return {
    status: 200,
    headers,
    async body(write, gone) {
      const over = AbortSignal.any([gone, options.stopped]);
      let shown = '';
      while (!over.aborted) {
        const answer = await options.answers.report();
        const view = await ('report' in answer ? reportView(answer.report) : unavailable(answer.why));
        const data = String(view);
        if (data !== shown) await write(serverSentEvent('view', data));
        shown = data;
        await options.clock.sleep(EVERY_MS, over).catch(() => {});
      }
    },
  };
}

function serverSentEvent(event: string, data: string): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  return `event: ${event}\n${lines.join('')}\n`;
}
