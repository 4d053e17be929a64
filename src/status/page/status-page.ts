import { readFileSync } from 'node:fs';
import { html, type Html, raw } from '../html.ts';
import { LONGEST_QUERY } from '../../model/lookup/lookup.ts';

const STYLE = ['page.css', 'lookup.css'].map((name) =>
  raw(readFileSync(new URL(name, import.meta.url), 'utf8')),
);
const SCRIPT = raw(readFileSync(new URL('page.js', import.meta.url), 'utf8'));

/** A drawing in the address itself: a browser asks for /favicon.ico otherwise. */
const ICON = raw(
  `data:image/svg+xml,${encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#3157d5"/><path d="M4 12V4l4 5 4-5v8" fill="none" stroke="#fff" stroke-width="2" stroke-linejoin="round"/></svg>',
  )}`,
);

/**
 * The document around a view of the report. Without script it is whole, too, and reloads by itself.
 * @param root the way from the page's folder to that of the first page
 */
export function statusPage(view: Html, nonce: string, root: string): Html {
  const live = html`<noscript><meta http-equiv="refresh" content="15" /></noscript>
    <script type="module" nonce="${nonce}">
      ${SCRIPT};
    </script>`;
  return pageAround(view, nonce, 'research-mirror', root, '', live);
}

/** The document around any other content: it stays as it is, and runs no script. @param query what was searched for */
export function stillPage(content: Html, nonce: string, title: string, query: string): Html {
  const view = html`<main id="content" tabindex="-1">${content}</main>`;
  return pageAround(view, nonce, `${title} – research-mirror`, '', query, html``);
}

/** It holds all that it needs. @param nonce the content policy's: style and script of nobody else apply */
function pageAround(view: Html, nonce: string, title: string, root: string, query: string, live: Html): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        ${live}
        <title>${title}</title>
        <link rel="icon" href="${ICON}" />
        <style nonce="${nonce}">
          ${STYLE}
        </style>
      </head>
      <body>
        <a class="skip" href="#content">Skip to the status</a>
        <header class="bar">
          <a class="name" href="${root}./">research-mirror</a>
          <span id="live" role="status"></span>
          <form class="search" role="search" action="${root}search">
            <label for="q">Search</label>
            <input
              id="q"
              name="q"
              type="search"
              maxlength="${LONGEST_QUERY}"
              placeholder="ID, domain or e-mail"
              autocomplete="off"
              spellcheck="false"
              value="${query}"
            />
            <button>Find</button>
          </form>
          <nav aria-label="Other forms of this page">
            <a href="${root}api/status">JSON</a> <a href="${root}metrics">Metrics</a>
          </nav>
        </header>
        ${view}
      </body>
    </html>`;
}
