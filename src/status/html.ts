/** HTML that is shown as it is. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** What the tag takes: text is escaped; lists are joined; null and undefined show nothing. */
type Part = string | number | Html | readonly Part[] | null | undefined;

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Takes text for HTML: it must be our own. */
export function raw(text: string): Html {
  return new Html(text);
}

/** A template tag: HTML with every value escaped, also between the quotes of an attribute. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(texts.reduce((before, text, n) => `${before}${shown(parts[n - 1])}${text}`));
}

function shown(part: Part): string {
  if (part === undefined || part === null) return '';
  if (typeof part === 'string') return part.replaceAll(/[&<>"']/g, (sign) => ESCAPES[sign] ?? '');
  if (typeof part === 'number' || part instanceof Html) return String(part);
  return part.map(shown).join('');
}
