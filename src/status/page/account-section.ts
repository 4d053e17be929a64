import { html } from 'hono/html';
import type {
  AccountStatus,
  CollectionStatus,
  GroupBudgetStatus,
  WalkStatus,
} from '../../model/status-report.ts';
import { absolute, count, rate, relative, span } from './page-figures.ts';
import { submissionsPart, webhookPart } from './webhook-and-submissions-section.ts';
import type { Html } from './html.ts';

/** One account: its collections, the walks under way, its budgets. */
export function accountSection(account: AccountStatus, at: string, unfolded: boolean): Html {
  const { userId, email, state, error, collections, walks, budgets, webhook, submissions } = account;
  return html`<section class="account">
    <details ${unfolded ? 'open' : ''}>
      <summary>
        <h2>Account ${userId}</h2>
        ${email === null ? '' : html`<span class="quiet">${email}</span>`}
        ${state === 'active' ? '' : chip(state === 'stopped' ? 'failing' : 'idle', state)}
      </summary>
      ${error === null ? '' : html`<p class="error">${error}</p>`}
      <table>
        <thead>
          <tr>
            <th>Collection</th>
            <th>State</th>
            <th class="figure">Rows</th>
            <th>New rows and changes as of</th>
            <th>Everything as of</th>
            <th>Next poll</th>
            <th>Next full walk</th>
          </tr>
        </thead>
        <tbody>
          ${collections.map((each) => collectionRow(each, at))}
        </tbody>
      </table>
      ${walks.length === 0 ? '' : walkTable(walks, at)} ${webhookPart(webhook, at)}
      ${submissionsPart(submissions)}
      ${budgets.map(
        (budget) =>
          html`<h3>Rate limits of key <code>${budget.key}…</code></h3>
            <table>
              <thead>
                <tr>
                  <th>Endpoints</th>
                  <th>Used in 60 s</th>
                  <th class="figure">Service’s limit</th>
                  <th class="figure">Used by others</th>
                  <th class="figure">Waiting</th>
                  <th class="figure">Refused (429)</th>
                </tr>
              </thead>
              <tbody>
                ${budget.groups.map(groupRow)}
              </tbody>
            </table>`,
      )}
    </details>
  </section>`;
}

function collectionRow(row: CollectionStatus, at: string): Html {
  const trouble = [
    row.quarantinedItems > 0 && `${count(row.quarantinedItems)} quarantined`,
    row.heldDeletions > 0 && `${count(row.heldDeletions)} deletions held back`,
    row.fieldConflicts > 0 && `${count(row.fieldConflicts)} values that did not fit their column`,
  ].filter((each) => each !== false);
  const waiting =
    row.waitingDeletions === 0
      ? ''
      : html`<small>${count(row.waitingDeletions)} in doubt: a second proof decides</small>`;
  const deleted = row.deletedRows === 0 ? '' : html`<small>and ${count(row.deletedRows)} deleted</small>`;
  return html`<tr>
    <th scope="row">
      <code>${row.collection}</code>
      ${trouble.map((each) => html`<small class="warn">${each}</small>`)} ${waiting}
      ${
        row.state === 'failing' && row.lastError !== null
          ? html`<small class="error">${row.lastError}</small>`
          : ''
      }
    </th>
    <td data-label="State">${chip(row.state, row.state)}</td>
    <td data-label="Rows" class="figure"><span>${count(row.liveRows)} ${deleted}</span></td>
    <td data-label="New rows and changes as of">${moment(row.polledAt, at, 'never')}</td>
    <td data-label="Everything as of">${moment(row.completeAsOf, at, 'not yet')}</td>
    <td data-label="Next poll">${nextMoment(row.nextPollAt, at)}</td>
    <td data-label="Next full walk">${nextMoment(row.nextFullAt, at)}</td>
  </tr>`;
}

function walkTable(walks: readonly WalkStatus[], at: string): Html {
  return html`<h3>Reading now</h3>
    <table>
      <thead>
        <tr>
          <th>Walk</th>
          <th class="figure">For</th>
          <th class="figure">Pages</th>
          <th class="figure">Rows</th>
          <th class="figure">Rows/s</th>
          <th class="figure">New</th>
          <th class="figure">Changed</th>
        </tr>
      </thead>
      <tbody>
        ${walks.map((walk) => walkRow(walk, at))}
      </tbody>
    </table>`;
}

function walkRow(walk: WalkStatus, at: string): Html {
  const milliseconds = Date.parse(at) - Date.parse(walk.startedAt);
  const list = walk.listId === null ? '' : ` of list ${walk.listId}`;
  return html`<tr>
    <th scope="row">${walk.kind} <code>${walk.collection}</code>${list}</th>
    <td data-label="For" class="figure">${span(milliseconds)}</td>
    <td data-label="Pages" class="figure">${count(walk.pages)}</td>
    <td data-label="Rows" class="figure">${count(walk.items)}</td>
    <td data-label="Rows/s" class="figure">${rate(walk.items, milliseconds / 1000)}</td>
    <td data-label="New" class="figure">${count(walk.inserted)}</td>
    <td data-label="Changed" class="figure">${count(walk.updated)}</td>
  </tr>`;
}

function groupRow(group: GroupBudgetStatus): Html {
  const paused = group.pausedForMs > 0 ? chip('failing', `stopped for ${span(group.pausedForMs)}`) : '';
  return html`<tr>
    <th scope="row"><code>${group.group}</code> ${paused}</th>
    <td data-label="Used in 60 s">
      <span class="use">
        <meter min="0" max="${Math.max(1, group.size)}" value="${group.used}"></meter>
        ${count(group.used)} of ${count(group.size)}
      </span>
    </td>
    <td data-label="Service’s limit" class="figure">${count(group.limit)}</td>
    <td data-label="Used by others" class="figure">${count(group.foreignUse)}</td>
    <td data-label="Waiting" class="figure">${count(group.waiting)}</td>
    <td data-label="Refused (429)" class="figure">${count(group.refused)}</td>
  </tr>`;
}

function moment(value: string | null, at: string, none: string): Html {
  return value === null ? html`<span class="quiet">${none}</span>` : time(value, relative(value, at), at);
}

/** When something is to begin; once that is past, it waits for its turn. */
function nextMoment(value: string | null, at: string): Html {
  if (value === null) return html`<span class="quiet">–</span>`;
  return time(value, Date.parse(value) > Date.parse(at) ? relative(value, at) : 'due', at);
}

function time(value: string, words: string, at: string): Html {
  return html`<time datetime="${value}">${words} <small>${absolute(value, at)}</small></time>`;
}

function chip(kind: string, text: string): Html {
  return html`<span class="chip ${kind}">${text}</span>`;
}
