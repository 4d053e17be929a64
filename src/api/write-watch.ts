import type { Dispatcher } from 'undici';

/** One request's dispatcher that knows whether the request was written. */
export interface WriteWatch {
  readonly dispatcher: Dispatcher;
  /** False: nothing of it was written. Once the request has failed or was aborted, this stays so. */
  readonly written: () => boolean;
}

/**
 * Watches one request on its way through undici.
 *
 * undici starts a request (`onRequestStart`, in `writeH1` of its client-h1.js) when its connection stands: after the
 * TLS handshake with a good certificate, after the proxy accepted CONNECT. It writes the request in the same turn,
 * unless the start throws or aborts. So what was never started was never written: a refused connection, a name that
 * is not found, a bad certificate, a tunnel that is refused. What was started may have been written, whatever became
 * of it. undici puts requests back into its queue where a connection is lost before they were started; one that was
 * is stopped here, should it ever begin again.
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
