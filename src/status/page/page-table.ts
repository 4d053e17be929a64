import { html, type Html, raw } from '../html.ts';
import { type Found, rowName, rowPath } from '../../model/lookup/lookup.ts';
import { age, shortened } from '../../model/status/report-words.ts';

/** Title, content, and whether it is a figure. The title is on each cell too: a phone shows rows as blocks. */
export type PageColumn<Row> = readonly [string, (row: Row) => Html | string, boolean?];

const FIGURE = raw('class="figure"');

/**
 * A table that a phone shows as blocks: its roles are said, since blocks have none of their own.
 * @param name what is in the first column, under `title`
 * @param caption what the table is, for who can't see what it stands under
 */
export function table<Row>(
  title: string,
  rows: readonly Row[],
  name: (row: Row) => Html,
  columns: readonly PageColumn<Row>[],
  caption: string = title,
): Html {
  return html`<table role="table">
    <caption class="unseen">
      ${caption}
    </caption>
    <thead role="rowgroup">
      <tr role="row">
        <th scope="col" role="columnheader">${title}</th>
        ${columns.map(
          ([title, , isFigure]) =>
            html`<th scope="col" role="columnheader" ${isFigure === true ? FIGURE : ''}>${title}</th>`,
        )}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map(
        (row) =>
          html`<tr role="row">
            <th scope="row" role="rowheader">${name(row)}</th>
            ${columns.map(
              ([title, content, isFigure]) =>
                html`<td role="cell" data-label="${title}" ${isFigure === true ? FIGURE : ''}>
                  ${content(row)}
                </td>`,
            )}
          </tr>`,
      )}
    </tbody>
  </table>`;
}

/** A moment as seen at `at`; `none` where there is none. */
export function moment(value: string | null, at: string, none: string): Html {
  return value === null ? html`<span class="quiet">${none}</span>` : time(value, age(value, at), at);
}

export function time(value: string, words: string, at: string): Html {
  return html`<time datetime="${value}">${words} <small>${absolute(value, at)}</small></time>`;
}

export function chip(kind: string, text: string): Html {
  return html`<span class="chip ${kind}">${text}</span>`;
}

const NAME = 120;

/** A row that was found, or what names it, with a link to its page. @param root the way to the first page's folder */
export function foundName({ by, row, name }: Found, root = ''): Html {
  const rowText = row === undefined ? '' : shortened(rowName(row), NAME);
  const text = by ?? rowText;
  return html`${row === undefined ? text : html`<a class="key" href="${root}${rowPath(row)}">${text}</a>`}
    <small>${name ?? ''}${by === null || row === undefined ? '' : ` about ${rowText}`}</small>`;
}

export function stateChip({ state }: Found): Html {
  return state === null ? html`<span class="quiet">–</span>` : chip('idle', state);
}

/** A moment in UTC, to the second; without the date on the day of `at`. Both are ISO 8601. */
export function absolute(moment: string, at: string): string {
  const [date = '', time = ''] = new Date(moment).toISOString().split('T');
  const clock = `${time.slice(0, 8)} UTC`;
  return new Date(at).toISOString().startsWith(date) ? clock : `${date} ${clock}`;
}
