import { countOf } from '@research-mirror/runtime/figures';
import { html } from 'hono/html';
import type { CollectionName } from '../../model/collections.ts';
import { type ChangeOp, type LatestChange, manyRows } from '../../model/status/latest-change.ts';
import { rowPath } from '../../model/lookup/row-address.ts';
import { shortened } from '../../model/status/shortened.ts';
import { count, type Html } from './page-figures.ts';
import { chip, moment, type PageColumn, table } from './page-table.ts';

/** Characters of a key, and of a field's name, that are shown. */
const KEY = 48;
const FIELD = 40;

const OPS: Readonly<Record<ChangeOp, readonly [kind: string, words: string]>> = {
  insert: ['current', 'new'],
  update: ['reading', 'changed'],
  delete: ['failing', 'deleted'],
  undelete: ['current', 'back'],
};

/** The last few changes of rows; nothing before there are any. @param several accounts are mirrored: each is named */
export function changesSection(changes: readonly LatestChange[], at: string, several: boolean): Html {
  if (changes.length === 0) return html``;
  const account: PageColumn<LatestChange> = ['Account', ({ userId }) => userId];
  return html`<section class="changes" aria-labelledby="latest-changes">
    <h2 id="latest-changes">Latest changes</h2>
    ${table(
      'Row',
      changes,
      rowOf,
      [
        ['Change', ({ op }) => chip(...OPS[op])],
        ['Field', fieldOf],
        ...(several ? [account] : []),
        ['When', (change) => moment(change.at, at, '')],
      ],
      'The newest changes of rows over all accounts',
    )}
  </section>`;
}

/** A link to the row's own page. @param key as in the view `changes` */
export function rowLink(userId: string, collection: CollectionName, key: string): Html {
  return html`<a class="key" href="${rowPath({ userId, collection, key })}">${shortened(key, KEY)}</a>`;
}

function rowOf(change: LatestChange): Html {
  const { userId, collection, key } = change;
  const many = manyRows(change, count);
  if (many !== undefined) return html`${many} in <code>${collection}</code>`;
  return html`<code>${collection}</code> ${rowLink(userId, collection, key ?? '')}`;
}

function fieldOf({ field, before, after, moreFields }: LatestChange): Html {
  if (field === null) return html`<span class="quiet none">–</span>`;
  return html`<span class="long"
    ><b>${shortened(field, FIELD)}</b>: ${value(before)} <span aria-hidden="true">→</span
    ><span class="unseen"> becomes </span> ${value(after)}
    ${moreFields === 0 ? '' : html`<small>and ${countOf(moreFields, 'field')} more</small>`}</span
  >`;
}

function value(text: string | null): Html {
  return text === null ? html`<span class="quiet">nothing</span>` : html`<code>${text}</code>`;
}
