import { isTlsProblem, networkProblem } from '../service/transport.ts';
import { askedAtMost } from '@research-mirror/runtime/asked-at-most';
import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';

/** No account is 0. `/healthz` would prove less: a proxy may answer it itself, or pass on deliveries only. */
const LISTENER_PATH = '/webhooks/0';
/** The listener's answer there to a GET. */
export const LISTENER_ANSWER = 'deliveries are posted\n';
/** Bytes read of an answer. */
const MOST_BYTES = 200;
/** A daemon's limit for the answer, and the time for which one answer counts for all its accounts, ms. */
const BOUND_MS = 5_000;
const COUNTS_MS = 60_000;

/**
 * Whether MIRROR_PUBLIC_URL leads to the listener for deliveries, as seen from here: the service may come another way.
 * @param place host and port of the listener
 * @param expected the listener's answer
 * @returns what answers instead, and the remedy; undefined: the listener answers
 */
export async function whyAstray(publicUrl: string, place: string, expected: string, signal: AbortSignal) {
  const { host } = new URL(publicUrl);
  let answered: string;
  try {
    const headers = { 'cache-control': 'no-cache' };
    const response = await fetch(`${publicUrl}${LISTENER_PATH}`, { signal, redirect: 'manual', headers });
    if ((await beginningOf(response)) === expected) return undefined;
    answered = `${LISTENER_PATH} ${response.status}`;
  } catch (error) {
    const problem = networkProblem(error, host, false);
    return {
      found: `MIRROR_PUBLIC_URL: ${messageOf(problem)}`,
      remedy: isTlsProblem(problem.code)
        ? 'the service delivers only to a certificate that it trusts: get one of a public authority, or set NODE_EXTRA_CA_CERTS to your own authority’s file if the service trusts it'
        : `correct MIRROR_PUBLIC_URL, or point the proxy or tunnel at ${place}`,
    };
  }
  return {
    found: `MIRROR_PUBLIC_URL (${host}) does not lead to ${place}: something else answers (${answered})`,
    remedy:
      'forward /webhooks/ in the proxy or tunnel; in nginx: ' +
      `location /webhooks/ { proxy_pass http://${place}; proxy_request_buffering on; client_max_body_size 1m; }`,
  };
}

/** `whyAstray` for all accounts of a process. @returns asks why deliveries go astray, with the remedy */
export function astrayKept(publicUrl: string, place: string, clock: Pick<Clock, 'monotonic'>) {
  const ask = async (): Promise<string | undefined> => {
    const astray = await whyAstray(publicUrl, place, LISTENER_ANSWER, AbortSignal.timeout(BOUND_MS));
    return astray && `${astray.found}; ${astray.remedy}`;
  };
  return askedAtMost(clock, ask, () => COUNTS_MS);
}

async function beginningOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) break;
  }
  return Buffer.concat(chunks).toString();
}
