import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Scheme } from '../../model/signature-scheme.ts';
import { canonicalJson } from './canonical-json.ts';
import type { Presented } from './presented.ts';
import { secretKeys, standardWebhooksKeys } from './secret-keys.ts';

/** A scheme by which a signature is right. */
export interface Proof {
  readonly scheme: Scheme;
  /** When it was signed, milliseconds since the epoch, as the signature itself proves; undefined where it does not. */
  readonly signedAt: number | undefined;
}

/** A delivery as far as its signature goes. */
export interface Signed {
  readonly presented: Presented;
  /** The raw bytes. */
  readonly body: Buffer;
  /** Their canonical form (canonical-json.ts); undefined where they have none. */
  readonly canonical: () => string | undefined;
}

/** A delivery is judged by several secrets, and again by fresh ones: its canonical form is printed once at most. */
export function signedBody(presented: Presented, body: Buffer): Signed {
  let printed: { readonly text: string | undefined } | undefined;
  const canonical = (): string | undefined => (printed ??= { text: canonicalJson(body.toString()) }).text;
  return { presented, body, canonical };
}

/**
 * The schemes by which a delivery is rightly signed with `secret`; none for a wrong signature.
 *
 * What is computed depends on the headers' form and on the schemes asked for, which are no secrets. Beyond that, every
 * scheme, key and claimed signature is compared to its end, whatever came of those before it, and each comparison
 * takes the same time: the time of a refusal tells nothing of a right signature, not even which scheme comes near.
 * @param schemes those that are permitted
 */
export function proofsOf(
  { presented, body, canonical }: Signed,
  secret: string,
  schemes: ReadonlySet<Scheme>,
): readonly Proof[] {
  const proofs: Proof[] = [];
  const keys = secretKeys(secret);
  const { bare, timestamped, standardWebhooks } = presented;

  const raw = bare.some(({ spelling }) => schemes.has(spelling)) ? macsOf(keys, [body]) : [];
  for (const spelling of ['hex', 'sha256-hex', 'base64'] as const) {
    const claimed = bare.filter((each) => each.spelling === spelling).map(({ mac }) => mac);
    if (equalsAny(raw, claimed) && schemes.has(spelling))
      proofs.push({ scheme: spelling, signedAt: undefined });
  }
  if (timestamped !== undefined && schemes.has('timestamped')) {
    const { signedAt, macs } = timestamped;
    const right = equalsAny(macsOf(keys, [`${signedAt.text}.`, body]), macs);
    if (right) proofs.push({ scheme: 'timestamped', signedAt: signedAt.ms });
  }
  if (standardWebhooks !== undefined && schemes.has('standard-webhooks')) {
    const { id, signedAt, macs } = standardWebhooks;
    const right = equalsAny(macsOf(standardWebhooksKeys(secret), [`${id}.${signedAt.text}.`, body]), macs);
    if (right) proofs.push({ scheme: 'standard-webhooks', signedAt: signedAt.ms });
  }
  if (bare.length > 0 && schemes.has('canonical-json')) {
    const text = canonical();
    const right =
      text !== undefined &&
      equalsAny(
        macsOf(keys, [text]),
        bare.map(({ mac }) => mac),
      );
    if (right) proofs.push({ scheme: 'canonical-json', signedAt: undefined });
  }
  return proofs;
}

/** HMAC-SHA-256 of the parts, one behind the other, under each key. */
function macsOf(keys: readonly Buffer[], parts: readonly (string | Buffer)[]): Buffer[] {
  return keys.map((key) => {
    const hmac = createHmac('sha256', key);
    for (const part of parts) hmac.update(part);
    return hmac.digest();
  });
}

/** Whether some claimed MAC is one of the right ones: all pairs are compared, in constant time each. */
function equalsAny(right: readonly Buffer[], claimed: readonly Buffer[]): boolean {
  let equal = 0;
  for (const mac of right) {
    for (const claim of claimed) equal |= Number(timingSafeEqual(mac, claim));
  }
  return equal === 1;
}
