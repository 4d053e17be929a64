import { html, type Html } from '../html.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { RowStory, StoryEntry } from '../../model/lookup/lookup-answers.ts';
import { keyParts, type RowAddress, rowName, rowPath } from '../../model/lookup/row-address.ts';
import { age } from '../../model/status/report-words.ts';
import { chip, time } from '../page/page-table.ts';

const STATES = {
  live: chip('current', 'mirrored'),
  deleted: chip('failing', 'deleted'),
  absent: chip('new', 'not mirrored, but named by what follows'),
};

/** A row: what happened to it, what is to come, and what it is now. */
export function rowView(row: RowAddress, story: RowStory): Html {
  const { userId, collection } = row;
  const { at, state, timeline, more, columns, raw } = story;
  const domain = columns.find(({ name }) => name === '_domain')?.value;
  const [list, ...item] = keyParts(row);
  const link = (path: string, text: string): Html => html`<a href="${path}">${text}</a>`;
  const of = (name: CollectionName, key: string): string => rowPath({ userId, collection: name, key });
  const links = [
    link(of('account', userId), `account ${userId}`),
    ...(list === undefined || item.length === 0 ? [] : [link(of('lists', list), `list ${list}`)]),
    link(`rows?user=${userId}&collection=${collection}`, `all ${collection}`),
    ...(domain === undefined ? [] : [link(`search?q=${encodeURIComponent(domain)}`, `all of ${domain}`)]),
  ];
  return html`<section class="headline ${state === 'live' ? 'good' : ''}">
      <h1>${rowName(row)}</h1>
      <p>${STATES[state]} ${links.map((each, n) => html`${n === 0 ? '' : ' · '}${each}`)}</p>
    </section>
    <section>
      <h2>What happened</h2>
      <ol class="story">
        ${timeline.map((entry) => happening(entry, at))}
      </ol>
      ${more ? html`<p>There are older entries: the function <code>row_story</code> tells all, in SQL.</p>` : ''}
    </section>
    <section>
      <h2>${state === 'live' ? 'The row now' : 'The row at its end'}</h2>
      <dl class="columns">${columns.map(({ name, value }) => pair(name, valueOf(value)))}</dl>
      <details>
        <summary>The whole item</summary>
        <pre class="item"><code>${raw}</code></pre>
      </details>
    </section>
    <footer class="quiet"><p>Moments are UTC.</p></footer>`;
}

const WORDS: Readonly<Record<string, string>> = {
  created: 'Made at the service',
  queued: 'Queued here',
  sent: 'Sent to the service',
  answered: 'Answered',
  ended: 'Ended without an answer',
  event: 'Event received',
  mirrored: 'Mirrored',
  changed: 'Changed',
  deleted: 'Deleted: the service has it no more',
  undeleted: 'Came back: the service has it again',
  quarantined: 'A version of it could not be mirrored',
  polled: 'Its collection was polled: changes of unfinished rows are here',
  read: 'Read, with all of its collection',
  suspected: 'In doubt: a second observation decides whether the service still has it',
  hinted: 'To be read again, since an event or an answer named it',
  next_poll: 'Next poll of its collection',
  next_full: 'Next reading of all of its collection',
};

function happening({ what, at, by, more, fields }: StoryEntry, now: string): Html {
  const told = Object.entries(more ?? {}).filter(([, value]) => value !== null);
  return html`<li data-what="${what}">
    ${time(at, age(at, now), now)}
    <div>
      <b>${WORDS[what] ?? what}</b>
      <small
        >${by}
        ${told.map(([name, value]) => html`${name.replaceAll('_', ' ')} <code>${String(value)}</code> `)}</small
      >
      ${what === 'changed' && fields.length === 0 ? html`<small>in no field, or what it was before is not kept</small>` : ''}
      <dl class="fields">
        ${fields.map(({ field, before, after }) => pair(field ?? '', html`${valueOf(before)} → ${valueOf(after)}`))}
      </dl>
    </div>
  </li>`;
}

function pair(name: string, value: Html): Html {
  return html`<dt><code>${name}</code></dt>
    <dd>${value}</dd>`;
}

/** A value; one of more than some words is folded. */
function valueOf(value: string | null): Html {
  if (value === null) return html`<span class="quiet">nothing</span>`;
  const whole = html`<span class="value">${value}</span>`;
  const beginning = Array.from(value).slice(0, 120).join('');
  if (beginning === value) return whole;
  return html`<details>
    <summary>${beginning}…</summary>
    ${whole}
  </details>`;
}
