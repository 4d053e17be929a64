import type { Clock } from '@research-mirror/runtime/clock';
import { isLately, type StoredSecrets } from './registration.ts';
import type { SchemeChoice } from '../config/parse-values.ts';
import { canonicalJson, type Claim, isBare, proofsOf } from './signatures.ts';

/** What a delivery's signature is worth (docs/design/events.md, "Signatures"). */
type DeliveryVerdict =
  | { readonly kind: 'verified'; readonly secret: string }
  /** The signature is right, but too old (or too far ahead) to be accepted. */
  | { readonly kind: 'expired'; readonly off: number }
  /** The signature matches no secret. */
  | { readonly kind: 'mismatch' }
  /** No known secret matches, but a new one may not have arrived yet: it must not be refused for good. */
  | { readonly kind: 'undecided'; readonly why: string };

/** A right signature is accepted for so long (ms): honest retries come late, and events only hint. */
export const ACCEPTED_MS = 24 * 3_600_000;
/** How long (ms) after a new secret deliveries may be signed with one that is not known here. */
export const REPLACED_MS = 10 * 60_000;

/**
 * Canonical JSON takes up to half a millisecond a KiB on the main thread, and anybody can ask for it. Bodies of the
 * usual size are free: they cost no more than their request. All larger ones together get so many bytes a second
 * (some 30 ms of work), and after a quiet time as many as the largest has. So a flood of large ones leaves enough
 * time for smaller ones; those that find too little left are answered 503, and come again.
 */
export const CANONICAL = { freeBytes: 2 * 1024, perSecond: 64 * 1024, burst: 1024 * 1024 };

/** Makes the canonical forms of bodies, as many as there is time for. */
export class CanonicalForms {
  readonly #clock: Clock;
  #left = CANONICAL.burst;
  #at: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.monotonic();
  }

  /** @returns `later` where it would take more time than there is; no text for a body that has no such form */
  of(body: Buffer): { readonly text: string | undefined } | 'later' {
    const now = this.#clock.monotonic();
    const earned = ((now - this.#at) / 1_000) * CANONICAL.perSecond;
    this.#left = Math.min(CANONICAL.burst, this.#left + earned);
    this.#at = now;
    if (body.length > CANONICAL.freeBytes) {
      if (body.length > this.#left) return 'later';
      this.#left -= body.length;
    }
    return { text: canonicalJson(body.toString()) };
  }
}

/**
 * Makes the judge of one delivery, who may be asked again when more is known: each secret is tried once, and the
 * canonical form made once, last, where no other form is right.
 * @param choice as configured
 */
export function deliveryJudge(
  claims: readonly Claim[],
  body: Buffer,
  choice: SchemeChoice,
  forms: CanonicalForms,
): (known: StoredSecrets, now: number) => DeliveryVerdict {
  const asIs = claims.filter(({ scheme }) => choice === 'auto' || choice === scheme);
  const ofForm = choice === 'auto' || choice === 'canonical-json' ? claims.filter(isBare) : [];
  const tried: string[] = [];
  let form: ReturnType<CanonicalForms['of']> | undefined;
  return (known, now) => {
    const secrets = secretsIn(known).filter((each) => !tried.includes(each));
    tried.push(...secrets);
    const proofs = proofsOf(asIs, secrets, body);
    if (proofs.length === 0 && ofForm.length > 0 && secrets.length > 0) {
      form ??= forms.of(body);
      if (form !== 'later' && form.text !== undefined) proofs.push(...proofsOf(ofForm, secrets, form.text));
    }
    const right = proofs.map(({ secret, signedAt = now }) => ({ secret, off: Math.abs(now - signedAt) }));
    const inTime = right.find(({ off }) => off <= ACCEPTED_MS);
    if (inTime !== undefined) return { kind: 'verified', secret: inTime.secret };
    if (right[0] !== undefined) return { kind: 'expired', off: right[0].off };
    return form === 'later'
      ? { kind: 'undecided', why: 'there are too many large ones to be judged' }
      : unexplained(known);
  };
}

function secretsIn({ current, previous, now }: StoredSecrets): string[] {
  const stillValid = previous !== undefined && previous.until > now ? [previous.secret] : [];
  return current === undefined ? stillValid : [current.secret, ...stillValid];
}

/**
 * Services take a 4xx for final: it is given only while the webhook is registered by us, and its secret known. After a
 * lost answer to a registration, and a refusal behind it, another secret than the known one may be in force.
 */
function unexplained({ current, state, now }: StoredSecrets): DeliveryVerdict {
  if (current === undefined) return { kind: 'undecided', why: 'no secret is known yet' };
  if (state !== 'registered') {
    return { kind: 'undecided', why: 'the webhook is not known to be registered with a secret of ours' };
  }
  return isLately(current.since, REPLACED_MS, now)
    ? { kind: 'undecided', why: 'the secret was replaced a moment ago' }
    : { kind: 'mismatch' };
}
