import { html } from 'hono/html';
import { rowPath } from '../../model/lookup/row-address.ts';
import type { CutText, RowStory } from '../../model/lookup/row-story.ts';
import { absolute, count, relative, type Html } from '../page/page-figures.ts';
import { chip } from '../page/page-table.ts';
import { rowName } from './row-name.ts';
import { timeline, valueOf } from './timeline-view.ts';

/** What a row's page needs besides the row. */
export interface RowFrame {
  /** The way to the status page's folder. */
  readonly root: string;
  /** Entries of the longest timeline that may be asked for; undefined: this is it. */
  readonly older: number | undefined;
}

/** A row: what happened to it, and what it is now. */
export function rowView(row: RowStory, { root, older }: RowFrame): Html {
  const domain = row.columns.find(({ name }) => name === '_domain')?.value.text;
  return html`<main id="content" tabindex="-1">
    <section class="headline ${row.state === 'live' ? 'good' : ''}">
      <h1>${rowName(row)}</h1>
      <p>
        of account <a href="${root}rows/${row.userId}/account">${row.userId}</a> ${state(row)}
        <a href="${root}api/${rowPath(row)}">JSON</a>
        ${
          domain === undefined
            ? ''
            : html`<a href="${root}search?q=${encodeURIComponent(domain)}">all of ${domain}</a>`
        }
        ${row.collection === 'list_items' ? html`<a href="${root}${listPath(row)}">its list</a>` : ''}
      </p>
    </section>
    <section>
      <h2>What happened</h2>
      ${timeline(row)} ${row.more ? olderEntries(row, root, older) : ''}
    </section>
    ${row.columns.length === 0 ? '' : columnsSection(row)} ${row.raw === null ? '' : itemSection(row.raw)}
    <footer class="quiet"><p>Moments are UTC.</p></footer>
  </main>`;
}

function state({ state: is, deletedAt, at }: RowStory): Html {
  if (is === 'live') return chip('current', 'mirrored');
  if (is === 'absent') return chip('new', 'not mirrored, but named by what follows');
  const when = deletedAt ?? at;
  return html`${chip('failing', 'deleted')}
    <time datetime="${when}" title="${absolute(when, at)}">${relative(when, at)}</time>`;
}

function listPath({ userId, key }: RowStory): string {
  return rowPath({ userId, collection: 'lists', key: key.slice(0, 1) });
}

function olderEntries(row: RowStory, root: string, older: number | undefined): Html {
  if (older === undefined) {
    return html`<p class="quiet">
      There are older entries: query the tables <code>changes</code>, <code>events</code> and
      <code>submissions</code>.
    </p>`;
  }
  return html`<p>
    <a href="${root}${rowPath(row)}?entries=${older}">Older entries, up to ${count(older)}</a>
  </p>`;
}

function columnsSection({ columns, state: is }: RowStory): Html {
  return html`<section>
    <h2>${is === 'live' ? 'The row now' : 'The row at its end'}</h2>
    <dl class="columns">
      ${columns.map(
        ({ name, type, value }) =>
          html`<dt title="${type}"><code>${name}</code></dt>
            <dd>${valueOf(value)}</dd>`,
      )}
    </dl>
  </section>`;
}

function itemSection(raw: CutText): Html {
  const left = raw.characters - Array.from(raw.text).length;
  return html`<section>
    <details>
      <summary><h2>The whole item</h2></summary>
      <pre class="item"><code>${raw.text}</code></pre>
      ${left > 0 ? html`<p class="quiet">and ${count(left)} characters more: column <code>_raw</code></p>` : ''}
    </details>
  </section>`;
}
