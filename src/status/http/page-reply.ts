/** What a GET or HEAD asks for. */
export interface PageQuestion {
  /** As it was sent, without query: decoding it would make a part's slash a new part. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Headers by their names in lower case; of one that came twice, what Node makes of it. */
  readonly header: (name: 'host' | 'authorization') => string | undefined;
}

/** An answer, which for HEAD is sent without its body. */
export interface PageReply {
  readonly status: number;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Stream;
}

/**
 * A body that comes in pieces; it ends when this resolves.
 * @param write resolves when there is room for more
 * @param gone aborted when nobody reads any more
 */
export type Stream = (write: (text: string) => Promise<void>, gone: AbortSignal) => Promise<void>;

/** Answers a request. */
export type Route = (asked: PageQuestion) => PageReply | Promise<PageReply>;

export function jsonReply(value: unknown, status = 200, headers: PageReply['headers'] = {}): PageReply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) };
}

/** @param policy its `Content-Security-Policy` */
export function htmlReply(text: string, policy: string, status = 200): PageReply {
  const headers = { 'content-type': 'text/html; charset=UTF-8', 'content-security-policy': policy };
  return { status, headers, body: text };
}
