export const HEALTH_PATH = '/healthz';

/** `user_id` is a bigint: what has more digits is no account. */
const DELIVERY = /^\/webhooks\/(\d{1,19})\/?$/;
const MAX_USER_ID = 2n ** 63n - 1n;

/**
 * The path of a request's target, without query and without `prefix`. Nothing is decoded: our own paths need no
 * escapes.
 * @param prefix path of the public URL: proxies leave it, or take it away. Where they took it, what is left may begin
 *   like it (a public URL that ends in `/webhooks`): what is an address of ours as it came stays as it is
 */
export function pathOf(target: string, prefix = ''): string {
  const path = target.split('?', 1)[0] ?? '';
  if (deliveryAccount(path) !== undefined) return path;
  const before = prefix.replace(/\/+$/, '');
  return before !== '' && path.startsWith(`${before}/`) ? path.slice(before.length) : path;
}

/**
 * The account to whose address a delivery came: `/webhooks/<user_id>`, also with the slash that some services put
 * behind a URL. Its digits are as in the account's row: 007 is nobody.
 */
export function deliveryAccount(path: string): string | undefined {
  const digits = DELIVERY.exec(path)?.[1];
  if (digits === undefined) return undefined;
  const userId = BigInt(digits);
  return userId <= MAX_USER_ID && userId.toString() === digits ? digits : undefined;
}
