import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Scheme } from '../../model/webhook/signature-scheme.ts';
import { canonicalJson } from './canonical-json.ts';
import type { Presented } from './presented.ts';

/** A scheme by which a signature is right. */
export interface SignatureProof {
  readonly scheme: Scheme;
  /**
   * When it was signed, milliseconds since the epoch, as the signature itself proves; undefined where it does not.
   */
  readonly signedAt: number | undefined;
}

/** What of a delivery its signature concerns. */
export interface Signed {
  readonly presented: Presented;
  /** The raw bytes. */
  readonly body: Buffer;
  /**
   * Their canonical form (canonical-json.ts); undefined where they have none.
   * @param proven the sender has the secret: it is printed at any cost
   */
  readonly canonical: (proven: boolean) => string | undefined | typeof LATER;
  /** HMAC-SHA-256 under `key` of `before` and the text, which is the body where none is given. */
  readonly mac: (key: Buffer, before: string, text?: string) => Buffer;
}

/** It would take more time than unknown senders are given. */
export const LATER = Symbol('later');

/**
 * A delivery is judged by several secrets, and again by fresh ones: its canonical form is printed at most once, and
 * each MAC computed once.
 * @param mayPrint asked before the canonical form of so many bytes is printed: a thousand times the work of a MAC
 */
export function signedBody(
  presented: Presented,
  body: Buffer,
  mayPrint: (bytes: number) => boolean = () => true,
): Signed {
  const macs = new Map<string, Buffer>();
  let printed: { readonly text: string | undefined } | undefined;
  let refused = false;
  return {
    presented,
    body,
    canonical: (proven) => {
      if (printed === undefined && !proven) {
        refused ||= !mayPrint(body.length);
        if (refused) return LATER;
      }
      printed ??= { text: canonicalJson(body.toString()) };
      return printed.text;
    },
    mac: (key, before, text) => {
      // Two texts there are: the body as it came, and its canonical form.
      const name = `${text === undefined ? 'raw' : 'canonical'} ${key.toString('hex')} ${before}`;
      const known = macs.get(name);
      if (known !== undefined) return known;
      const hmac = createHmac('sha256', key).update(before);
      const made = hmac.update(text ?? body).digest();
      macs.set(name, made);
      return made;
    },
  };
}

/**
 * The schemes by which `secret` signs the delivery; none for a wrong signature; `LATER` where only the expensive one
 * could be right, and was not tried.
 *
 * The work depends on the form of the headers and on the schemes asked for, which are no secrets. Beyond that every
 * scheme, key and claimed signature is compared, each in constant time: the time of a refusal says nothing about a
 * right signature, not even which scheme comes near.
 * @param schemes those that are permitted
 */
export function proofsOf(
  { presented, canonical, mac }: Signed,
  secret: string,
  schemes: ReadonlySet<Scheme>,
): readonly SignatureProof[] | typeof LATER {
  const proofs: SignatureProof[] = [];
  const keys = secretKeys(secret);
  const { bare, timestamped, standardWebhooks } = presented;

  const raw = bare.some(({ spelling }) => schemes.has(spelling)) ? keys.map((key) => mac(key, '')) : [];
  for (const spelling of ['hex', 'sha256-hex', 'base64'] as const) {
    const claimed = bare.filter((each) => each.spelling === spelling).map(({ mac }) => mac);
    if (equalsAny(raw, claimed) && schemes.has(spelling))
      proofs.push({ scheme: spelling, signedAt: undefined });
  }
  if (timestamped !== undefined && schemes.has('timestamped')) {
    const { signedAt, macs } = timestamped;
    const right = keys.map((key) => mac(key, `${signedAt.text}.`));
    if (equalsAny(right, macs)) proofs.push({ scheme: 'timestamped', signedAt: signedAt.ms });
  }
  if (standardWebhooks !== undefined && schemes.has('standard-webhooks')) {
    const { id, signedAt, macs } = standardWebhooks;
    const right = standardWebhooksKeys(secret).map((key) => mac(key, `${id}.${signedAt.text}.`));
    if (equalsAny(right, macs)) proofs.push({ scheme: 'standard-webhooks', signedAt: signedAt.ms });
  }
  if (bare.length > 0 && schemes.has('canonical-json')) {
    const text = canonical(proofs.length > 0);
    if (text === LATER) return LATER;
    const right = text === undefined ? [] : keys.map((key) => mac(key, '', text));
    const claimed = bare.map(({ mac }) => mac);
    if (equalsAny(right, claimed)) proofs.push({ scheme: 'canonical-json', signedAt: undefined });
  }
  return proofs;
}

/**
 * Whether some claimed MAC is one of the right ones: all pairs are compared, in constant time each. All have the 32
 * bytes of SHA-256: presented.ts lets no others in.
 */
function equalsAny(right: readonly Buffer[], claimed: readonly Buffer[]): boolean {
  let equal = 0;
  for (const mac of right) {
    for (const claim of claimed) equal |= Number(timingSafeEqual(mac, claim));
  }
  return equal === 1;
}

/**
 * The HMAC keys that a secret may mean: its text, and the bytes that it spells in hex. Specification 2.3 calls it a
 * hex string, and does not say which of the two is the key.
 */
export function secretKeys(secret: string): Buffer[] {
  // Everybody has the empty key.
  if (secret === '') return [];
  const text = Buffer.from(secret);
  return /^(?:[0-9a-f]{2})+$/i.test(secret) ? [text, Buffer.from(secret, 'hex')] : [text];
}

/** Keys of the Standard Webhooks scheme: a secret is `whsec_` and the key in base64; the prefix may be missing. */
export function standardWebhooksKeys(secret: string): Buffer[] {
  const base64 = secret.replace(/^whsec_/, '');
  return /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}={0,2}|[A-Za-z0-9+/]{3}=?)?$/.test(base64) && base64 !== ''
    ? [...secretKeys(secret), Buffer.from(base64, 'base64')]
    : secretKeys(secret);
}
