import { html } from 'hono/html';
import type { Html } from './html.ts';

/** What the page shows while no report can be made. @param why one sentence */
export function unavailable(why: string): Html {
  return html`<main data-title="No answer – research-mirror">
    <section class="headline bad">
      <h1>The status can’t be read now</h1>
      <p>${why}</p>
    </section>
    <p class="quiet">What was mirrored is safe. This page shows it as soon as the database answers.</p>
  </main>`;
}
