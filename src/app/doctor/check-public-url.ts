import type { WebhookConfig } from '../../config/config.ts';
import { LISTENER_ANSWER, whyAstray } from '../process/public-url.ts';
import type { PortState, Reply } from './check-listeners.ts';
import type { Report } from './check.ts';

/** Whether the public URL leads to this daemon's listener: to the one that runs, else to doctor's own in its place. */
export async function checkPublicUrl(
  { publicUrl, host, port }: WebhookConfig & { readonly publicUrl: string },
  listener: PortState,
  reply: Reply,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  if (listener.state === 'taken') return;
  const isFree = listener.state === 'free';
  const place = `${host}:${isFree ? listener.port : port}`;
  const astray = await whyAstray(publicUrl, place, isFree ? reply : LISTENER_ANSWER, signal);
  signal.throwIfAborted();
  if (astray === undefined) report('public_url', 'ok', `${publicUrl} leads to ${place}, seen from here`);
  else report('public_url', 'broken', astray.found, { remedy: astray.remedy });
}
