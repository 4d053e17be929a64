import { html } from 'hono/html';
import type { SubmissionCounts, WebhookStatus } from '../../model/status/status-report.ts';
import { absolute, count, relative, type Html } from './page-figures.ts';

const WORDS: Readonly<Record<WebhookStatus['state'], string>> = {
  none: 'none: polling only',
  registering: 'being registered',
  registered: 'registered',
  foreign: 'another’s: polling only',
  suspect: 'suspect: signatures do not fit',
  stopped: 'stopped: another program takes its place',
};

/** How the account hears of events; nothing where it never did. */
export function webhookPart(webhook: WebhookStatus, at: string): Html {
  const { state, host, error, lastEventAt, hintsWaiting } = webhook;
  if (state === 'none' && error === null && lastEventAt === null) return html``;
  const kind =
    state === 'registered' ? 'current' : state === 'suspect' || state === 'stopped' ? 'failing' : 'waiting';
  const last =
    lastEventAt === null
      ? html`<span class="quiet">never</span>`
      : html`<time datetime="${lastEventAt}"
          >${relative(lastEventAt, at)} <small>${absolute(lastEventAt, at)}</small></time
        >`;
  return html`<h3>Webhook</h3>
    <table role="table">
      <caption class="unseen">
        Webhook
      </caption>
      <thead role="rowgroup">
        <tr role="row">
          <th scope="col" role="columnheader">Registration</th>
          <th scope="col" role="columnheader">Last event</th>
          <th scope="col" role="columnheader" class="figure">To be read again</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        <tr role="row">
          <th scope="row" role="rowheader">
            <span class="chip ${kind}">${WORDS[state]}</span>
            ${host === null ? '' : html`<small>${host}</small>`}
            ${error === null ? '' : html`<small class="${kind === 'failing' ? 'error' : 'warn'}">${error}</small>`}
          </th>
          <td role="cell" data-label="Last event">${last}</td>
          <td role="cell" data-label="To be read again" class="figure">${count(hintsWaiting)}</td>
        </tr>
      </tbody>
    </table>`;
}

/** Submissions that wait, and those of the last day; nothing where there are none. */
export function submissionsPart(counts: SubmissionCounts): Html {
  const states = ['queued', 'sending', 'held', 'accepted', 'rejected', 'unknown', 'cancelled'] as const;
  if (states.every((state) => counts[state] === 0)) return html``;
  return html`<h3>Submissions: waiting, and ended in the last 24 h</h3>
    <table role="table">
      <caption class="unseen">
        Submissions by state
      </caption>
      <thead role="rowgroup">
        <tr role="row">
          ${states.map((state) => html`<th scope="col" role="columnheader" class="figure">${state}</th>`)}
        </tr>
      </thead>
      <tbody role="rowgroup">
        <tr role="row">
          ${states.map((state) => html`<td role="cell" data-label="${state}" class="figure">${count(counts[state])}</td>`)}
        </tr>
      </tbody>
    </table>`;
}
