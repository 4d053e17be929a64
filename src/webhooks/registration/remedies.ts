import type { Seen } from '../../model/webhook/registration.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { hostOf } from './same-url.ts';

/**
 * What `status` says where something is wrong with an account's webhook, with the remedy. Of URLs they name the host.
 */

export const SUSPECT_SIGNATURES =
  'deliveries come with signatures that no known secret explains, and what changes is announced by none that is right: the webhook is registered again, at most hourly. If that does not help, see whether another program registers the same URL, or set MIRROR_WEBHOOK_SCHEME';

export const ON_HOLD =
  'the database was restored or copied: no webhook is registered or removed until "research-mirror submissions release"';

export const STOPPED =
  'our webhook was replaced, changed, switched off or removed twice within an hour, so it is left alone: only polls find changes. See which other program registers webhooks for this account (or whether deliveries reach MIRROR_PUBLIC_URL), then restart';

export const NO_SECRET =
  "the service's answer to the registration held no secret: deliveries can't be verified, and are refused until one does; tried again hourly";

export function leftAlone(seen: Seen, takeover: string): string {
  const host = seen === 'none' ? 'nobody' : hostOf(seen.url);
  return `the account's webhook leads to ${host}, and MIRROR_WEBHOOK_TAKEOVER=${takeover} leaves it there: only polls find changes. Set it to "always" to replace that one with the next start, or unset MIRROR_PUBLIC_URL`;
}

export function nothingThere(): string {
  return 'no webhook is registered, and MIRROR_WEBHOOK_TAKEOVER=never registers none: only polls find changes. Set it to "if-empty", or unset MIRROR_PUBLIC_URL';
}

/** How a message of `goAstray` begins. */
const ASTRAY = 'it is registered, but its deliveries do not get here: ';

/** @param why with the remedy */
export function goAstray(why: string): string {
  return `${ASTRAY}${why}. Until then only polls find changes`;
}

export function saysAstray(error: string | null): boolean {
  return error?.startsWith(ASTRAY) === true;
}

/** How a message of `nothingArrives` begins. */
const SILENT = 'it is registered, but no event arrives: ';

/** @param changes found by our own reading since the last delivery that was right */
export function nothingArrives(changes: number): string {
  return `${SILENT}${countOf(changes, 'change')} ${changes === 1 ? 'was' : 'were'} found by polls alone. "research-mirror doctor" looks whether deliveries can reach MIRROR_PUBLIC_URL`;
}

export function saysNothingArrives(error: string | null): boolean {
  return error?.startsWith(SILENT) === true;
}

/** What was found in place of ours, for the log. */
export function goneAtService(seen: Seen): string {
  if (seen === 'none') return 'our webhook was removed at the service: it is registered again';
  if (seen.active === false) return 'our webhook was switched off at the service: it is registered again';
  return `our webhook was changed at the service (it leads to ${hostOf(seen.url)}): it is registered again`;
}
