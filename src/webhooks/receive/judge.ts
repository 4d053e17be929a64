import { isLately } from '../../model/webhook/registration.ts';
import { SIGNATURE_SCHEMES, type Scheme, type SchemeChoice } from '../../model/webhook/signature-scheme.ts';
import type { ProvenSecret, StoredSecrets } from '../../model/webhook/webhook-secrets.ts';
import { isSigned } from '../signature/presented.ts';
import { isPermitted, nextPin } from '../signature/strength.ts';
import { LATER, proofsOf, type SignatureProof, type Signed } from '../signature/verify-signature.ts';

/** What a delivery's signature is worth (docs/design/events.md, "Signatures"). */
export type DeliveryVerdict =
  | {
      readonly kind: 'verified';
      readonly proven: ProvenSecret;
      /** Milliseconds by which the signed moment is off, where that is more than a delivery takes. */
      readonly late: number | undefined;
    }
  /** The signature is right, but too old (or too far ahead) to be accepted. */
  | { readonly kind: 'expired'; readonly off: number }
  /** No header could be a signature. */
  | { readonly kind: 'unsigned' }
  /** The signature matches no secret. */
  | { readonly kind: 'mismatch' }
  /** No known secret matches, but a new one may not have arrived yet: it must not be refused for good. */
  | { readonly kind: 'undecided'; readonly why: string };

/** A signed moment that is off by more is logged; clocks and retries explain less. */
export const FRESH_MS = 5 * 60_000;
/** A right signature is accepted for so long: honest retries come late, and events only hint. */
export const ACCEPTED_MS = 24 * 3_600_000;
/** How long after a new secret deliveries may be signed with one that is not known here. */
export const REPLACED_MS = 10 * 60_000;

const SCHEMES = SIGNATURE_SCHEMES.filter((scheme): scheme is Scheme => scheme !== 'auto');

/**
 * Judges a delivery by what is known of its account's secrets.
 * @param choice as configured
 * @param now by this machine's clock, milliseconds since the epoch: for the moments that signatures prove
 */
export function judgeDelivery(
  signed: Signed,
  secrets: StoredSecrets,
  choice: SchemeChoice,
  now: number,
): DeliveryVerdict {
  if (!isSigned(signed.presented)) return { kind: 'unsigned' };
  const { current, previous } = secrets;
  const stillValid = previous !== undefined && previous.until > secrets.now ? previous : undefined;
  // Both are always tried, so that the time taken does not show which one is right.
  const byCurrent = current === undefined ? undefined : judgeBy(signed, current, choice, now);
  const byPrevious = stillValid === undefined ? undefined : judgeBy(signed, stillValid, choice, now);
  if (byPrevious?.kind === 'verified' && byCurrent?.kind !== 'verified') return byPrevious;
  return byCurrent ?? byPrevious ?? unexplained(secrets);
}

/** @returns undefined for a wrong signature */
function judgeBy(
  signed: Signed,
  { secret, scheme: pinned }: { readonly secret: string; readonly scheme: Scheme | undefined },
  choice: SchemeChoice,
  now: number,
): Extract<DeliveryVerdict, { kind: 'verified' | 'expired' | 'undecided' }> | undefined {
  const permitted = new Set(SCHEMES.filter((scheme) => isPermitted(scheme, choice, pinned)));
  const proofs = proofsOf(signed, secret, permitted);
  if (proofs === LATER) return { kind: 'undecided', why: 'there are too many large ones to be judged' };
  const off = ({ signedAt }: SignatureProof): number =>
    signedAt === undefined ? 0 : Math.abs(now - signedAt);
  const [first, ...others] = proofs.filter((proof) => off(proof) <= ACCEPTED_MS);
  if (first === undefined) {
    const [expired] = proofs;
    return expired === undefined ? undefined : { kind: 'expired', off: off(expired) };
  }
  const pin = nextPin(pinned, [first.scheme, ...others.map(({ scheme }) => scheme)]);
  const late = Math.max(...[first, ...others].map(off));
  return { kind: 'verified', proven: { secret, pinned, pin }, late: late > FRESH_MS ? late : undefined };
}

/** Services take a 4xx for final: it is given only where no secret that is still to arrive could match. */
function unexplained({ current, state, now }: StoredSecrets): DeliveryVerdict {
  if (current === undefined) return { kind: 'undecided', why: 'no secret is known yet' };
  if (state === 'registering' || state === 'suspect') {
    return { kind: 'undecided', why: 'the webhook is being registered' };
  }
  return isLately(current.since, REPLACED_MS, now)
    ? { kind: 'undecided', why: 'the secret was replaced a moment ago' }
    : { kind: 'mismatch' };
}
