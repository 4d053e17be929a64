import type { IncomingHttpHeaders } from 'node:http';

/** A MAC as a header claims it: 32 bytes. */
type Mac = Buffer;

/** The signatures that a delivery's headers claim, whatever they are worth: by their form, which several schemes may share. */
export interface Presented {
  /** MACs alone, of the raw body or its canonical form. */
  readonly bare: readonly { readonly spelling: 'hex' | 'sha256-hex' | 'base64'; readonly mac: Mac }[];
  readonly timestamped: { readonly signedAt: SignedMoment; readonly macs: readonly Mac[] } | undefined;
  readonly standardWebhooks:
    | { readonly id: string; readonly signedAt: SignedMoment; readonly macs: readonly Mac[] }
    | undefined;
}

export interface SignedMoment {
  /** As in the header: this text is signed. */
  readonly text: string;
  /** Milliseconds since the epoch. */
  readonly ms: number;
}

/** Further parts of a header are ignored: a service has only a few secrets at a time. */
const MAX_PARTS = 16;
const MAC_BYTES = 32;
/** A number from here on counts milliseconds: as seconds it would be beyond the year 5000. */
const LEAST_MILLISECONDS = 1e11;

/**
 * Reads the signatures of a delivery. Unknown forms are left out: SHA-1, other versions, other lengths.
 * @param header name of the header that carries the signature; Standard Webhooks may use their own name instead
 */
export function presentedSignatures(headers: IncomingHttpHeaders, header: string): Presented {
  const value = textOf(headers[header.toLowerCase()]);
  return {
    bare: bareMacs(value),
    timestamped: timestampedMacs(value),
    standardWebhooks: standardWebhooksMacs(headers, value),
  };
}

/** False where no secret could make the delivery's signature right. */
export function isSigned(presented: Presented): boolean {
  const { bare, timestamped, standardWebhooks } = presented;
  return bare.length > 0 || timestamped !== undefined || standardWebhooks !== undefined;
}

function bareMacs(value: string): Presented['bare'] {
  // Node joins headers of one name by commas.
  const macs = partsOf(value, ',').map((part) => {
    const hex = /^(sha256=)?([0-9a-f]{64})$/i.exec(part);
    if (hex !== null) {
      const spelling: 'hex' | 'sha256-hex' = hex[1] === undefined ? 'hex' : 'sha256-hex';
      return { spelling, mac: Buffer.from(hex[2] ?? '', 'hex') };
    }
    const mac = macOfBase64(part);
    return mac === undefined ? undefined : { spelling: 'base64' as const, mac };
  });
  // All or nothing: the parts of another form may look like a MAC.
  return macs.every((mac) => mac !== undefined) ? macs : [];
}

/** `t=1700000000,v1=…,v1=…,v0=…`: other versions than v1 are skipped. */
function timestampedMacs(value: string): Presented['timestamped'] {
  const fields = partsOf(value, ',').map((part) => /^(\w+)=(.*)$/.exec(part));
  const moments = fields.flatMap((field) => (field?.[1] === 't' ? [field[2] ?? ''] : []));
  const macs = fields.flatMap((field) =>
    field?.[1] === 'v1' && /^[0-9a-f]{64}$/i.test(field[2] ?? '') ? [Buffer.from(field[2] ?? '', 'hex')] : [],
  );
  const signedAt = moments.length === 1 ? momentOf(moments[0] ?? '') : undefined;
  return signedAt === undefined || macs.length === 0 ? undefined : { signedAt, macs };
}

/** https://www.standardwebhooks.com: `webhook-signature: v1,<base64> v1,<base64>`; v1a (asymmetric) is skipped. */
function standardWebhooksMacs(
  headers: IncomingHttpHeaders,
  ownHeader: string,
): Presented['standardWebhooks'] {
  const id = textOf(headers['webhook-id']);
  const signedAt = momentOf(textOf(headers['webhook-timestamp']));
  const values = `${textOf(headers['webhook-signature'])} ${ownHeader}`;
  const macs = partsOf(values, ' ').flatMap((part) => {
    const mac = part.startsWith('v1,') ? macOfBase64(part.slice(3)) : undefined;
    return mac === undefined ? [] : [mac];
  });
  return id === '' || signedAt === undefined || macs.length === 0 ? undefined : { id, signedAt, macs };
}

function textOf(value: string | string[] | undefined): string {
  return (Array.isArray(value) ? value.join(', ') : (value ?? '')).trim();
}

function partsOf(value: string, separator: ' ' | ','): string[] {
  return value
    .split(separator, MAX_PARTS)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function macOfBase64(text: string): Mac | undefined {
  const mac = /^[A-Za-z0-9+/]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined;
  return mac?.length === MAC_BYTES ? mac : undefined;
}

function momentOf(text: string): SignedMoment | undefined {
  if (!/^\d{1,15}$/.test(text)) return undefined;
  const number = Number(text);
  return { text, ms: number < LEAST_MILLISECONDS ? number * 1000 : number };
}
