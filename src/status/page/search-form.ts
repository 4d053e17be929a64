import { html } from 'hono/html';
import { LONGEST_QUERY } from '../../model/lookup/search-terms.ts';
import type { Html } from './page-figures.ts';

/** The search of every page. @param root the way to the status page's folder */
export function searchForm(root: string, query: string): Html {
  return html`<form class="search" role="search" action="${root}search">
    <label for="q">Search</label>
    <input
      id="q"
      name="q"
      type="search"
      maxlength="${LONGEST_QUERY}"
      placeholder="ID, domain or e-mail"
      autocomplete="off"
      spellcheck="false"
      value="${query}"
    />
    <button>Find</button>
  </form>`;
}
