/** Longest text that is read as an address, in characters. */
const MAX_LENGTH = 2083;
/** Longest domain, in characters (RFC 1035, 2.3.4). */
const MAX_DOMAIN = 253;

/** A domain that the URL parser would give back unchanged, as most items have it. */
const PLAIN = /^(?!www\.)(?!.*xn--)(?:[a-z0-9-]{1,63}\.)+[a-z]{2,63}$/;

/**
 * Domain of an address as people write it: `https://www.Acme.example/about` and `ACME.example` give `acme.example`.
 * Host names outside ASCII come as `xn--…`.
 * @returns undefined for an IP address, a single label, or no address at all
 */
export function domainOf(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const address = text.trim();
  if (address.length <= MAX_DOMAIN && PLAIN.test(address)) return address;
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(address);
  const url = URL.parse(hasScheme ? address : `https://${address.replace(/^\/\//, '')}`);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  const host = url.hostname.replace(/\.$/, '');
  const domain = host.replace(/^www\.(?=.*\.)/, '');
  return isDomain(domain) ? domain : undefined;
}

/** The last label of an IPv4 address is a number, and an IPv6 address stands in brackets. */
function isDomain(host: string): boolean {
  const labels = host.split('.');
  return (
    host.length <= MAX_DOMAIN &&
    labels.length > 1 &&
    labels.every((label) => /^[a-z0-9_-]{1,63}$/.test(label)) &&
    !/^\d+$/.test(labels.at(-1) ?? '')
  );
}
