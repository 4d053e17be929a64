import { html } from 'hono/html';
import type { CollectionName } from '../../model/collections.ts';
import type { DeletionCause, WaitingDeletion } from '../../model/status/status-report.ts';
import { rowLink } from './changes-section.ts';
import { count, relative, type Html } from './page-figures.ts';
import { chip, moment, type PageColumn, table } from './page-table.ts';

const WORDS: Readonly<Record<DeletionCause, string>> = {
  brake: 'held by the brake',
  refused: 'refused by Postgres',
  item_without_id: 'an item without ID',
  second_proof: 'second proof',
  full_walk: 'next full walk',
};

/** These are shown: with many accounts the view data_quality has them all. */
const MOST = 30;

/** Rows that look deleted and are still there: why, and who has to do what. @param several accounts are mirrored */
export function deletionsSection(deletions: readonly WaitingDeletion[], at: string, several: boolean): Html {
  if (deletions.length === 0) return html``;
  const account: PageColumn<WaitingDeletion> = ['Account', ({ userId }) => userId];
  return html`<section class="deletions" aria-labelledby="deletions">
    <h2 id="deletions">Deletions that wait</h2>
    <p class="quiet">
      Rows that the service seems to have no more. Until that is proven they are mirrored as they were.
    </p>
    ${table(
      'Collection',
      deletions.slice(0, MOST),
      ({ collection }) => html`<code>${collection}</code>`,
      [
        ...(several ? [account] : []),
        ['Rows', ({ rows, liveRows }) => `${count(rows)} of ${count(liveRows)}`, true],
        ['Missed since', ({ since }) => moment(since, at, '')],
        ['Waits for', (each) => cause(each, at)],
        ['Rows, for example', ({ userId, collection, examples }) => keys(userId, collection, examples)],
      ],
      'Rows that look deleted, by what their deletion waits for',
    )}
    ${deletions.length > MOST ? html`<p class="quiet">More of them: view <code>data_quality</code></p>` : ''}
  </section>`;
}

function cause({ cause, what, byItself, due, remedy }: WaitingDeletion, at: string): Html {
  const kind = ['brake', 'refused', 'item_without_id'].includes(cause) ? 'failing' : 'waiting';
  const when =
    due === null ? '' : Date.parse(due) > Date.parse(at) ? `, ${relative(due, at)}` : ', which is due';
  return html`<div class="long">
    ${chip(kind, WORDS[cause])}
    <small>${what}</small>
    <small>by itself: ${byItself}${when}</small>
    ${remedy === null ? '' : html`<small class="remedy">${remedy}</small>`}
  </div>`;
}

function keys(userId: string, collection: CollectionName, examples: readonly string[]): Html {
  return html`<span class="long"
    >${examples.map((key, index) => html`${index === 0 ? '' : ', '}${rowLink(userId, collection, key)}`)}</span
  >`;
}
