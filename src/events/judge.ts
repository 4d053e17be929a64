import type { Clock } from '@research-mirror/runtime/clock';
import type { SchemeChoice } from '../config/parse-values.ts';
import type { StoredSecrets } from './receiving-accounts.ts';
import { isLately } from './registration.ts';
import { canonicalJson, type Claim, isBare, proofsOf } from './signatures.ts';

/** The verdict on a delivery's signature (docs/design/events.md, "Signatures"). */
type DeliveryVerdict =
  | { readonly kind: 'verified'; readonly secret: string }
  /** The signature is valid, but too old or too far ahead. */
  | { readonly kind: 'expired'; readonly off: number }
  /** The signature matches no secret. */
  | { readonly kind: 'mismatch' }
  /** No known secret matches, but a new one may not have arrived yet: not refused for good. */
  | { readonly kind: 'undecided'; readonly why: string };

/** Age up to which a signature is accepted, ms: honest retries come late, and events only hint. */
export const ACCEPTED_MS = 24 * 3_600_000;
/** Time after a new secret during which deliveries may be signed with an unknown one, ms. */
export const REPLACED_MS = 10 * 60_000;

/**
 * Budget for canonical JSON, which takes up to half a millisecond a KiB on the main thread and which anyone can cause.
 * Bodies of the usual size are free: they cost no more than their request. Larger ones share so many bytes a second
 * (about 30 ms of work), and after a quiet time as many as the largest has. A flood of large ones therefore leaves time
 * for smaller ones; those that exceed the budget are answered 503, and come again.
 */
export const CANONICAL = { freeBytes: 2 * 1024, perSecond: 64 * 1024, burst: 1024 * 1024 };

/**
 * Makes canonical forms of bodies within the budget.
 * @returns `later`: it exceeds the budget; text undefined: the body has no such form
 */
export function canonicalForms(clock: Clock) {
  let left = CANONICAL.burst;
  let at = clock.monotonic();
  return (body: Buffer): { readonly text: string | undefined } | 'later' => {
    const now = clock.monotonic();
    left = Math.min(CANONICAL.burst, left + ((now - at) / 1_000) * CANONICAL.perSecond);
    at = now;
    if (body.length > CANONICAL.freeBytes) {
      if (body.length > left) return 'later';
      left -= body.length;
    }
    return { text: canonicalJson(body.toString()) };
  };
}

/**
 * Makes the judge of one delivery, which may be asked again when more is known. It tries each secret once, and makes
 * the canonical form once, last, if no other form matches.
 */
export function deliveryJudge(
  claims: readonly Claim[],
  body: Buffer,
  choice: SchemeChoice,
  formOf: ReturnType<typeof canonicalForms>,
): (known: StoredSecrets, now: number) => DeliveryVerdict {
  const asIs = claims.filter(({ scheme }) => choice === 'auto' || choice === scheme);
  const ofForm = choice === 'auto' || choice === 'canonical-json' ? claims.filter(isBare) : [];
  const tried: string[] = [];
  let form: ReturnType<typeof formOf> | undefined;
  return (known, now) => {
    const { current, previous } = known;
    const isValid = previous !== undefined && previous.until > known.now;
    const valid = [...(current === undefined ? [] : [current.secret]), ...(isValid ? [previous.secret] : [])];
    const secrets = valid.filter((each) => !tried.includes(each));
    tried.push(...secrets);
    const proofs = proofsOf(asIs, secrets, body);
    if (proofs.length === 0 && ofForm.length > 0 && secrets.length > 0) {
      form ??= formOf(body);
      if (form !== 'later' && form.text !== undefined) proofs.push(...proofsOf(ofForm, secrets, form.text));
    }
    const right = proofs.map(({ secret, signedAt = now }) => ({ secret, off: Math.abs(now - signedAt) }));
    const inTime = right.find(({ off }) => off <= ACCEPTED_MS);
    if (inTime !== undefined) return { kind: 'verified', secret: inTime.secret };
    if (right[0] !== undefined) return { kind: 'expired', off: right[0].off };
    return form === 'later' ? { kind: 'undecided', why: 'too many large ones are being checked' } : unexplained(known);
  };
}

/**
 * Services consider a 4xx final: a signature is a mismatch only while the webhook is registered by us and its secret is
 * known. After a lost answer to a registration and a later refusal, an unknown secret may be in force.
 */
function unexplained({ current, state, now }: StoredSecrets): DeliveryVerdict {
  if (current === undefined) return { kind: 'undecided', why: 'no secret is known yet' };
  if (state !== 'registered') {
    return { kind: 'undecided', why: 'it is not known whether the webhook has our secret' };
  }
  return isLately(current.since, REPLACED_MS, now)
    ? { kind: 'undecided', why: 'the secret was replaced a moment ago' }
    : { kind: 'mismatch' };
}
