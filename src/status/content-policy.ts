import { randomBytes } from 'node:crypto';

/** Only a page's own script and style run, those with the nonce, and it talks to nobody but this server. */
export function contentPolicy(): { readonly nonce: string; readonly policy: string } {
  const nonce = randomBytes(16).toString('base64');
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
  return { nonce, policy };
}
