import { readFileSync } from 'node:fs';
import { html, raw } from 'hono/html';
import type { Html } from './page-figures.ts';

const STYLE = raw(readFileSync(new URL('page.css', import.meta.url), 'utf8'));
const SCRIPT = raw(readFileSync(new URL('page.js', import.meta.url), 'utf8'));

/** A drawing in the address itself: a browser asks for /favicon.ico otherwise. */
const ICON = raw(
  `data:image/svg+xml,${encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#3157d5"/><path d="M4 12V4l4 5 4-5v8" fill="none" stroke="#fff" stroke-width="2" stroke-linejoin="round"/></svg>',
  )}`,
);

/**
 * The document around a view. It holds all that it needs; without script it is whole, and reloads by itself.
 * @param nonce the content policy's: style and script of nobody else apply
 */
export function statusPage(view: Html, nonce: string): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <noscript><meta http-equiv="refresh" content="15" /></noscript>
        <title>research-mirror</title>
        <link rel="icon" href="${ICON}" />
        <style nonce="${nonce}">
          ${STYLE}
        </style>
      </head>
      <body>
        <a class="skip" href="#content">Skip to the status</a>
        <header class="bar">
          <span class="name">research-mirror</span>
          <span id="live" role="status"></span>
          <nav aria-label="Other forms of this page">
            <a href="api/status">JSON</a> <a href="metrics">Metrics</a>
          </nav>
        </header>
        ${view}
        <script nonce="${nonce}">
          ${SCRIPT};
        </script>
      </body>
    </html>`;
}
