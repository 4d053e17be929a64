import type { Dispatcher } from 'undici';

/** One request's dispatcher that knows whether the request was written. */
export interface WriteWatch {
  readonly dispatcher: Dispatcher;
  /** False: nothing of it was written. After a failure or an abort this no longer changes. */
  readonly written: () => boolean;
}

/**
 * Watches one request on its way through undici, which starts it (`onRequestStart`, in `writeH1` of its client-h1.js)
 * when its connection is ready: after the TLS handshake, after the proxy accepted CONNECT. It writes the request in
 * the same turn, unless the start throws or aborts. So a request that was never started was never written; one that
 * was started may have been. undici queues a request again when its connection is lost before the start; a second
 * start throws here.
 */
export function watchWriting(dispatcher: Dispatcher, mayWrite: () => boolean = () => true): WriteWatch {
  let written = false;
  return {
    dispatcher: dispatcher.compose((dispatch) => (options, handler) => {
      const start = handler.onRequestStart?.bind(handler);
      handler.onRequestStart = (controller, context) => {
        start?.(controller, context);
        if (controller.aborted) return;
        if (written) throw new Error('a request that was written is not written again');
        if (!mayWrite()) throw new Error('not sent: it was too late for it');
        written = true;
      };
      return dispatch(options, handler);
    }),
    written: () => written,
  };
}
