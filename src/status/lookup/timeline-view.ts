import { html } from 'hono/html';
import type { CutText, FieldChange, RowStory, TimelineEntry } from '../../model/lookup/row-story.ts';
import { absolute, count, relative, type Html } from '../page/page-figures.ts';
import { time } from '../page/page-table.ts';

/** What happened to a row, the newest first. */
export function timeline({ timeline: entries, at }: RowStory): Html {
  return html`<ol class="story">
    ${entries.map(
      (entry) =>
        html`<li data-what="${entry.what}">
          ${time(entry.at, relative(entry.at, at), at)}
          <div>${happening(entry, at)}</div>
        </li>`,
    )}
  </ol>`;
}

function happening(entry: TimelineEntry, at: string): Html {
  switch (entry.what) {
    case 'queued':
      return html`<b>Queued</b> here as submission ${entry.submissionId},
        <code>${entry.operation}</code>
        ${entry.idempotencyKey === null ? '' : html`<small>idempotency key <code>${entry.idempotencyKey}</code></small>`}`;
    case 'sent':
      return html`<b>Sent</b> to the service, submission ${entry.submissionId}`;
    case 'answered':
      return html`<b>Answered</b>: submission ${entry.submissionId} is
        ${entry.state}${entry.responseStatus === null ? '' : ` (${entry.responseStatus})`}`;
    case 'ended':
      return html`<b>Ended</b> without an answer: submission ${entry.submissionId} is ${entry.state}`;
    case 'created':
      return html`<b>Made</b> at the service`;
    case 'event':
      return html`<b>Event</b> <code>${entry.type ?? 'of no type'}</code> received
        <small>
          <code>${entry.eventId}</code>${
            entry.createdAt === null ? '' : `, made at the service ${absolute(entry.createdAt, at)}`
          }
        </small>`;
    case 'mirrored':
      return html`<b>Mirrored</b> for the first time
        ${entry.walkId === null ? '' : html`<small>by walk ${entry.walkId}: ${entry.walk}</small>`}`;
    case 'changed':
      return html`<b>Changed</b> ${fields(entry.fields)}`;
    case 'deleted':
      return html`<b>Deleted</b>: the service has it no more`;
    case 'undeleted':
      return html`<b>Came back</b>: the service has it again`;
    case 'suspected':
      return entry.returned
        ? html`<b>In doubt</b>: it came back; a second observation decides`
        : html`<b>In doubt</b>: the service seems to have it no more;
            ${entry.proven ? 'proven twice, and gone soon unless it is held back' : 'a second proof decides'}`;
  }
}

function fields(changes: readonly FieldChange[]): Html {
  if (changes.length === 0) {
    return html`<small>in no field, or what it was before is not kept</small>`;
  }
  return html`<dl class="fields">
    ${changes.map(
      ({ field, before, after }) =>
        html`<dt><code>${field}</code></dt>
          <dd>${before === null ? NONE : valueOf(before)} → ${after === null ? NONE : valueOf(after)}</dd>`,
    )}
  </dl>`;
}

const NONE = html`<span class="quiet">nothing</span>`;

/** Characters of a value that are shown without being asked for. */
const AT_ONCE = 120;

/** A value; a long one folded, whole as far as it is known. */
export function valueOf({ text, characters }: CutText): Html {
  const whole = html`<span class="value">${text}</span>`;
  if (characters <= AT_ONCE) return whole;
  // Postgres counts code points.
  const points = Array.from(text);
  const left = characters - points.length;
  return html`<details>
    <summary>${points.slice(0, AT_ONCE).join('')}…</summary>
    ${whole} ${left > 0 ? html`<small>and ${count(left)} characters more</small>` : ''}
  </details>`;
}
