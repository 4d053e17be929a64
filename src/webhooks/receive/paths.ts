export const HEALTH_PATH = '/healthz';

/** `user_id` is a bigint: more digits name no account. */
const DELIVERY = /^\/webhooks\/(\d{1,19})\/?$/;
const MAX_USER_ID = 2n ** 63n - 1n;

/**
 * The path of a request's target, without query and without `prefix`. Nothing is decoded: our paths need no escapes.
 * @param prefix path of the public URL, which proxies leave or remove. A path that is ours as it came is not cut
 *   again, though it may begin like the prefix (of a public URL that ends in `/webhooks`)
 */
export function pathOf(target: string, prefix = ''): string {
  const path = target.split('?', 1)[0] ?? '';
  if (deliveryAccount(path) !== undefined) return path;
  const before = prefix.replace(/\/+$/, '');
  return before !== '' && path.startsWith(`${before}/`) ? path.slice(before.length) : path;
}

/**
 * The account of a delivery's address: `/webhooks/<user_id>`, also with the slash that some services append. The
 * digits are those of the account's row: 007 is nobody.
 */
export function deliveryAccount(path: string): string | undefined {
  const digits = DELIVERY.exec(path)?.[1];
  if (digits === undefined) return undefined;
  const userId = BigInt(digits);
  return userId <= MAX_USER_ID && userId.toString() === digits ? digits : undefined;
}
