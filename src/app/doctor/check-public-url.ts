import { isTlsProblem, networkProblem } from '../../api/network-problem.ts';
import { messageOf } from '@research-mirror/runtime/message';
import type { WebhookConfig } from '../../config/config.ts';
import type { PortState, Reply } from './check-listeners.ts';
import type { Report } from './check.ts';

/** A proxy may pass on deliveries only, so that the listener's health can't be asked for. Nobody has account 0. */
const PATHS = ['/healthz', '/webhooks/0'];
/** What the daemon's listener answers there to a GET. */
const ANSWERS: Readonly<Record<string, string>> = {
  '/healthz': 'ok\n',
  '/webhooks/0': 'deliveries are posted\n',
};
/** Of a stranger's answer no more is read than that. */
const MOST_CHARACTERS = 200;

/**
 * Whether the public URL leads to this daemon's listener: to the one that runs, else to doctor's own in its place.
 * Seen from here: the service may come another way.
 */
export async function checkPublicUrl(
  { publicUrl, host, port }: WebhookConfig & { readonly publicUrl: string },
  listener: PortState,
  reply: Reply,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const place = `${host}:${listener.state === 'free' ? listener.port : port}`;
  if (listener.state === 'taken') return;
  const answers: string[] = [];
  for (const path of PATHS) {
    const url = `${publicUrl}${path}`;
    const got = await get(url, signal);
    if ('error' in got) {
      const problem = networkProblem(got.error, new URL(url).host, false);
      report('public_url', 'broken', `MIRROR_PUBLIC_URL: ${messageOf(problem)}`, {
        remedy: isTlsProblem(problem.code)
          ? 'the service delivers only to a certificate that it trusts: get one of a public authority (and name its own in NODE_EXTRA_CA_CERTS where the service trusts it)'
          : `mend MIRROR_PUBLIC_URL, or the proxy or tunnel there, which leads to ${place}`,
      });
      return;
    }
    const expected = listener.state === 'free' ? reply : ANSWERS[path];
    if (got.text === expected) {
      report('public_url', 'ok', `${publicUrl} leads to ${place}, seen from here`);
      return;
    }
    answers.push(`${path} ${got.status}`);
  }
  report(
    'public_url',
    'broken',
    `${publicUrl} does not lead to ${place}: something else answers (${answers.join(', ')})`,
    {
      remedy:
        'let the proxy or tunnel pass /webhooks/ on; in nginx: ' +
        `location /webhooks/ { proxy_pass http://${place}; proxy_request_buffering on; client_max_body_size 1m; }`,
    },
  );
}

async function get(
  url: string,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string } | { readonly error: unknown }> {
  try {
    const response = await fetch(url, {
      signal,
      redirect: 'manual',
      headers: { 'cache-control': 'no-cache' },
    });
    return { status: response.status, text: (await response.text()).slice(0, MOST_CHARACTERS) };
  } catch (error) {
    signal.throwIfAborted();
    return { error };
  }
}
