/** Characters of the longest text that is read as an address. */
const MAX_LENGTH = 2083;
/** Characters of the longest domain (RFC 1035, 2.3.4). */
const MAX_DOMAIN = 253;

/** A domain as most items have it: the URL parser would give it back as it is. */
const PLAIN = /^(?!www\.)(?!.*xn--)(?:[a-z0-9-]{1,63}\.)+[a-z]{2,63}$/;

/**
 * The domain that a company is known by, of an address as people write it: `https://www.Acme.example/about` and
 * `ACME.example` are `acme.example`. Host names outside ASCII come as the URL parser writes them (`xn--…`).
 * @returns undefined where there is none: an IP address, one label, no address at all
 */
export function domainOf(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const address = text.trim();
  if (address.length <= MAX_DOMAIN && PLAIN.test(address)) return address;
  const url = URL.parse(withScheme(address));
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  const host = url.hostname.replace(/\.$/, '');
  const domain = host.replace(/^www\.(?=.*\.)/, '');
  return isDomain(domain) ? domain : undefined;
}

function withScheme(address: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(address)) return address;
  return address.startsWith('//') ? `https:${address}` : `https://${address}`;
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
