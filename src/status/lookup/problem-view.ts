import { html } from 'hono/html';
import type { Html } from '../page/page-figures.ts';

/** What a page shows that could not be answered. @param why one sentence */
export function problemView(what: string, why: string): Html {
  return html`<main id="content" tabindex="-1">
    <section class="headline bad">
      <h1>${what}</h1>
      <p>${why}</p>
    </section>
  </main>`;
}

/** @param root the way to the status page's folder */
export function notFoundView(root: string): Html {
  return html`<main id="content" tabindex="-1">
    <section class="headline bad">
      <h1>There is no such row</h1>
      <p>
        Nothing is mirrored under this address: no account, table or key of it, or the row was removed or
        forgotten. Search for its ID above, or go <a href="${root}./">back to the status page</a>.
      </p>
    </section>
  </main>`;
}
