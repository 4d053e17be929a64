import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Scheme } from '../config/parse-values.ts';

/** A MAC that a delivery's headers claim, valid or not. */
export interface Claim {
  /** By its form: a MAC of the canonical form looks like one of the raw body. */
  readonly scheme: Exclude<Scheme, 'canonical-json'>;
  /** 32 bytes. */
  readonly mac: Buffer;
  /** Signed text before the body. */
  readonly before: string;
  /** Milliseconds since the epoch; undefined: unknown. */
  readonly signedAt: number | undefined;
}

/** Further parts of a header are ignored: a service has only a few secrets at a time. */
const MAX_PARTS = 16;
/** Numbers from here on are milliseconds: as seconds they would be beyond the year 5000. */
const LEAST_MILLISECONDS = 1e11;

/**
 * The claims of a delivery, without unknown forms: SHA-1, other versions, other lengths.
 * @param header name of the header with the signature; Standard Webhooks may use their own name instead
 */
export function claimsOf(headers: IncomingHttpHeaders, header: string): Claim[] {
  const value = textOf(headers[header.toLowerCase()]);
  return [...bare(value), ...timestamped(value), ...standardWebhooks(headers, value)];
}

/** Whether it is a MAC alone, of the raw body or its canonical form. */
export function isBare({ before }: Claim): boolean {
  return before === '';
}

function bare(value: string): Claim[] {
  // Node joins headers of one name by commas.
  const claims = partsOf(value, ',').map((part): Claim | undefined => {
    const [, name, hex] = /^(sha256=)?([0-9a-f]{64})$/i.exec(part) ?? [];
    const scheme = hex === undefined ? 'base64' : name === undefined ? 'hex' : 'sha256-hex';
    const mac = hex === undefined ? macOfBase64(part) : Buffer.from(hex, 'hex');
    return mac && { scheme, mac, before: '', signedAt: undefined };
  });
  // All or none: parts of another form may look like a MAC.
  return claims.every((claim) => claim !== undefined) ? claims : [];
}

/** `t=1700000000,v1=…,v1=…,v0=…`: other versions than v1 are skipped. */
function timestamped(value: string): Claim[] {
  const fields = partsOf(value, ',').map((part) => /^(\w+)=(.*)$/.exec(part) ?? ['', '', '']);
  const [moment, ...others] = fields.filter(([, name]) => name === 't');
  const signedAt = momentOf(moment?.[2] ?? '');
  if (signedAt === undefined || others.length > 0) return [];
  return fields.flatMap(([, name, text = '']): Claim[] =>
    name === 'v1' && /^[0-9a-f]{64}$/i.test(text)
      ? [{ scheme: 'timestamped', mac: Buffer.from(text, 'hex'), before: `${moment?.[2]}.`, signedAt }]
      : [],
  );
}

/** https://www.standardwebhooks.com: `webhook-signature: v1,<base64> v1,<base64>`; v1a (asymmetric) is skipped. */
function standardWebhooks(headers: IncomingHttpHeaders, ownHeader: string): Claim[] {
  const id = textOf(headers['webhook-id']);
  const moment = textOf(headers['webhook-timestamp']);
  const signedAt = momentOf(moment);
  if (id === '' || signedAt === undefined) return [];
  const values = `${textOf(headers['webhook-signature'])} ${ownHeader}`;
  return partsOf(values, ' ').flatMap((part): Claim[] => {
    const mac = part.startsWith('v1,') ? macOfBase64(part.slice(3)) : undefined;
    return mac === undefined ? [] : [{ scheme: 'standard-webhooks', mac, before: `${id}.${moment}.`, signedAt }];
  });
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

function macOfBase64(text: string): Buffer | undefined {
  const mac = /^[A-Za-z0-9+/]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined;
  return mac?.length === 32 ? mac : undefined;
}

/** @returns milliseconds since the epoch */
function momentOf(text: string): number | undefined {
  if (!/^\d{1,15}$/.test(text)) return undefined;
  const number = Number(text);
  return number < LEAST_MILLISECONDS ? number * 1000 : number;
}

/**
 * The valid claims, each with its secret: HMAC-SHA-256 of the text before the body, and the body.
 *
 * The work depends on the form of the headers, which is no secret. Beyond that, every secret, key and claim is compared
 * in constant time: the time of a refusal says nothing about a valid signature.
 */
export function proofsOf(claims: readonly Claim[], secrets: readonly string[], body: Buffer | string) {
  const proofs: { secret: string; signedAt: number | undefined }[] = [];
  for (const alike of Map.groupBy(claims, ({ before }) => before).values()) {
    const [{ before, scheme } = { before: '', scheme: 'hex' }] = alike;
    for (const secret of secrets) {
      for (const key of secretKeys(secret, scheme === 'standard-webhooks')) {
        const right = createHmac('sha256', key).update(before).update(body).digest();
        for (const { mac, signedAt } of alike) {
          if (timingSafeEqual(right, mac)) proofs.push({ secret, signedAt });
        }
      }
    }
  }
  return proofs;
}

/**
 * The HMAC keys that a secret may mean: its text, and the bytes that it spells in hex. Specification 2.3 calls it a
 * hex string, and does not say which of the two is the key.
 * @param orBase64 also the key of Standard Webhooks: base64 behind `whsec_`, which may be missing
 */
export function secretKeys(secret: string, orBase64 = false): Buffer[] {
  // Everyone knows the empty key.
  if (secret === '') return [];
  const keys = [Buffer.from(secret)];
  if (/^(?:[0-9a-f]{2})+$/i.test(secret)) keys.push(Buffer.from(secret, 'hex'));
  const base64 = secret.replace(/^whsec_/, '');
  const isBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}={0,2}|[A-Za-z0-9+/]{3}=?)?$/.test(base64);
  if (orBase64 && isBase64 && base64 !== '') keys.push(Buffer.from(base64, 'base64'));
  return keys;
}

/**
 * JSON in one spelling: fields sorted by name (code points), no white space, everything but printable ASCII escaped,
 * the last one of duplicate fields. Python prints it by
 * `json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)`, except that numbers keep their text:
 * a program prints the numbers of a body and of its canonical form alike.
 * @returns undefined for text that is not JSON, or nested more deeply than the stack allows
 */
export function canonicalJson(text: string): string | undefined {
  try {
    JSON.parse(text);
    // A reviver that keeps the text of numbers takes a second for a megabyte: they become strings, marked by a letter.
    const marked = text.replaceAll(/"([^"\\]*(?:\\.[^"\\]*)*")|-?\d[\d.eE+-]*/g, (token, string: string | undefined) =>
      string === undefined ? `"n${token}"` : `"s${string}`,
    );
    return printed(JSON.parse(marked)).replaceAll(
      /[\u007f-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  } catch {
    return undefined;
  }
}

function printed(value: unknown): string {
  if (typeof value === 'string') return value.startsWith('n') ? value.slice(1) : quoted(value);
  if (Array.isArray(value)) return `[${value.map(printed).join(',')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const fields = Object.entries(value).sort(([a], [b]) => compareCodePoints(a, b));
  return `{${fields.map(([name, inner]) => `${quoted(name)}:${printed(inner)}`).join(',')}}`;
}

function quoted(marked: string): string {
  return JSON.stringify(marked.slice(1));
}

/** JavaScript's own order is by UTF-16 units: it puts U+E000 to U+FFFF behind all pairs. */
function compareCodePoints(a: string, b: string): number {
  const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const [x, y] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (x !== y) return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : -1;
  }
  return a.length - b.length;
}
