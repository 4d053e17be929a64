import { createHash, timingSafeEqual } from 'node:crypto';

/** True for addresses that only this machine can reach. @param host as configured: a name or an address */
export function isLoopbackName(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return (
    name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name)
  );
}

/**
 * True when a request's `Host` names this machine's loopback. A stranger's page can point its own name at 127.0.0.1
 * and read the answers (DNS rebinding), but `Host` then has that name. Any port will do: ports may be forwarded.
 */
export function isLoopbackHostHeader(host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(`http://${host}`)) return false;
  return isLoopbackName(new URL(`http://${host}`).hostname);
}

/**
 * Makes the check of an `Authorization` header: `Bearer <token>`, or `Basic` with the token as password and any
 * user. Takes the same time for every wrong token.
 */
export function tokenCheck(token: string): (authorization: string | undefined) => boolean {
  const expected = sha256(token);
  return (authorization) => {
    const given = tokenIn(authorization ?? '');
    return given !== undefined && timingSafeEqual(sha256(given), expected);
  };
}

function tokenIn(authorization: string): string | undefined {
  const [, scheme, value] = /^(Bearer|Basic) +(\S+) *$/i.exec(authorization) ?? [];
  if (scheme === undefined || value === undefined) return undefined;
  if (scheme.toLowerCase() === 'bearer') return value;
  const pair = Buffer.from(value, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  return colon === -1 ? undefined : pair.slice(colon + 1);
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
