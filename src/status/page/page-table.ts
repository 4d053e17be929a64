import { html } from 'hono/html';
import { absolute, relative, type Html } from './page-figures.ts';

/** Title, content, and whether it is a figure. The title is on each cell too: a phone shows rows as blocks. */
export type PageColumn<Row> = readonly [string, (row: Row) => Html | string, boolean?];

/** A table that a phone shows as blocks. @param name what is in the first column, under `title` */
export function table<Row>(
  title: string,
  rows: readonly Row[],
  name: (row: Row) => Html,
  columns: readonly PageColumn<Row>[],
): Html {
  return html`<table>
    <thead>
      <tr>
        <th>${title}</th>
        ${columns.map(([title, , figure]) =>
          figure === true ? html`<th class="figure">${title}</th>` : html`<th>${title}</th>`,
        )}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (row) =>
          html`<tr>
            <th scope="row">${name(row)}</th>
            ${columns.map(([title, content, figure]) =>
              figure === true
                ? html`<td data-label="${title}" class="figure">${content(row)}</td>`
                : html`<td data-label="${title}">${content(row)}</td>`,
            )}
          </tr>`,
      )}
    </tbody>
  </table>`;
}

/** A moment as seen at `at`; `none` where there is none. */
export function moment(value: string | null, at: string, none: string): Html {
  return value === null ? html`<span class="quiet">${none}</span>` : time(value, relative(value, at), at);
}

export function time(value: string, words: string, at: string): Html {
  return html`<time datetime="${value}">${words} <small>${absolute(value, at)}</small></time>`;
}

/** @param kind a class of page.css */
export function chip(kind: string, text: string): Html {
  return html`<span class="chip ${kind}">${text}</span>`;
}
