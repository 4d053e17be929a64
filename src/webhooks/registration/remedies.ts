import type { Seen } from '../../model/webhook/registration.ts';
import { countOf } from '@research-mirror/runtime/figures';

/** What `status` says where something is wrong with an account's webhook, with the remedy. Of URLs it names the host. */

export const SUSPECT_SIGNATURES =
  'deliveries come with signatures that no known secret explains, and what changes is announced by none that is right: the webhook is registered again, at most hourly. If that does not help, see whether another program registers the same URL, or set MIRROR_WEBHOOK_SCHEME';

export const ON_HOLD =
  'the database was restored or copied: no webhook is registered or removed until "research-mirror submissions release"';

export const STOPPED =
  'our webhook was replaced, changed, switched off or removed twice within an hour, so it is left alone: only polls find changes. See which other program registers webhooks for this account (or whether deliveries reach MIRROR_PUBLIC_URL), then restart';

export const NOTHING_THERE =
  'no webhook is registered, and MIRROR_WEBHOOK_TAKEOVER=never registers none: only polls find changes. Set it to "if-empty", or unset MIRROR_PUBLIC_URL';

export function leftAlone(seen: Seen, takeover: string): string {
  const host = seen === 'none' ? 'nobody' : hostOf(seen.url);
  return `the account's webhook leads to ${host}, and MIRROR_WEBHOOK_TAKEOVER=${takeover} leaves it there: only polls find changes. Set it to "always" to replace that one with the next start, or unset MIRROR_PUBLIC_URL`;
}

/** How messages begin that a delivery contradicts. */
const NOTHING_COMES = 'it is registered, but ';
const ASTRAY = `${NOTHING_COMES}its deliveries do not get here: `;

/** @param why with the remedy */
export function goAstray(why: string): string {
  return `${ASTRAY}${why}. Until then only polls find changes`;
}

export function saysAstray(error: string | null): boolean {
  return error?.startsWith(ASTRAY) === true;
}

/** @param changes found by our own reading since the last delivery that was right */
export function nothingArrives(changes: number): string {
  return `${NOTHING_COMES}no event arrives: ${countOf(changes, 'change')} ${changes === 1 ? 'was' : 'were'} found by polls alone. "research-mirror doctor" looks whether deliveries can reach MIRROR_PUBLIC_URL`;
}

export function saysNothingComes(error: string | null): boolean {
  return error?.startsWith(NOTHING_COMES) === true;
}

export const SECRET_REPLACED =
  'no known secret explains the deliveries, and what changed was announced by none that is right: the webhook is registered again';

export const RENEWED = 'our webhook was removed or changed at the service: it is registered again';

/** Whether two URLs name the same address, however a service spells it: letter case, default port, slashes at the end. */
export function sameUrl(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => (URL.parse(text)?.href ?? text).replace(/\/+$/, ''));
  return a === b;
}

/** What may be shown of somebody else's URL: path and query may hold secrets. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? 'an address that is no URL';
}
