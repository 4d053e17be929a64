/**
 * Whether two URLs name the same address, however a service spells its own: letter case of scheme and host, default
 * port, slashes at the end, letter case of percent-encodings.
 */
export function sameUrl(one: string, other: string): boolean {
  return normalUrl(one) === normalUrl(other);
}

function normalUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return text;
  const host = `${url.hostname.replace(/\.$/, '')}:${url.port}`;
  const path = url.pathname.replace(/\/+$/, '').replaceAll(/%[\da-f]{2}/gi, (code) => code.toUpperCase());
  return `${url.protocol}//${host}${path}${url.search}`;
}

/** What may be shown of somebody else's URL: path and query may hold secrets. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? 'an address that is no URL';
}
