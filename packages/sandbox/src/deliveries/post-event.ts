import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

/** Connections for deliveries; an idle one is kept for the next. */
export interface Connections {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
}

export function openConnections(): Connections {
  return { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };
}

export function closeConnections({ http, https }: Connections): void {
  http.destroy();
  https.destroy();
}

/**
 * POSTs an event and reads the whole answer. Redirects are not followed.
 * @param signal aborts the request
 * @returns the status; null where the answer is incomplete
 */
export function postEvent(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
  connections: Connections,
  signal: AbortSignal,
): Promise<number | null> {
  const bytes = Buffer.from(body);
  const secure = url.startsWith('https:');
  return new Promise((resolve) => {
    const request = (secure ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      agent: secure ? connections.https : connections.http,
      signal,
      headers: {
        'Content-Type': 'application/json',
        'Content-Length': bytes.length,
        'User-Agent': 'research-service-webhooks/1',
        ...headers,
      },
    });
    request.once('response', (response) => {
      response.resume();
      // Too late to change the result after a whole answer.
      response.once('end', () => resolve(response.statusCode ?? null));
      response.once('close', () => resolve(null));
      response.on('error', () => resolve(null));
    });
    // `error` may come more than once.
    request.on('error', () => resolve(null));
    request.end(bytes);
  });
}
