const HIDDEN = '***';
/** A shorter "secret" is part of ordinary words and numbers: replacing it would garble every line. */
const MIN_LENGTH = 4;
/** A secret of this length is also replaced inside other base64 text. */
const MIN_LENGTH_IN_BASE64 = 8;

/**
 * Replaces every secret in a text by `***`, in each spelling that a program may print: plain, inside JSON (also JSON
 * inside JSON), URL-encoded, and within base64 (`Basic` credentials).
 */
export class Scrubber {
  readonly #spellings = new Set<string>();
  #pattern: RegExp | undefined;

  constructor(secrets: readonly string[] = []) {
    this.hide(...secrets);
  }

  /** Adds secrets, at any time. */
  hide(...secrets: readonly string[]): void {
    const known = this.#spellings.size;
    for (const secret of secrets.filter((each) => each.length >= MIN_LENGTH)) {
      for (const spelling of spellingsOf(secret)) this.#spellings.add(spelling);
    }
    if (this.#spellings.size === known) return;
    // Longest first: a secret that starts with another one is replaced completely.
    const longestFirst = [...this.#spellings].toSorted((a, b) => b.length - a.length);
    this.#pattern = new RegExp(longestFirst.map((spelling) => RegExp.escape(spelling)).join('|'), 'g');
  }

  /** A bound function: it can be passed on. */
  readonly scrub = (text: string): string =>
    this.#pattern === undefined ? text : text.replaceAll(this.#pattern, HIDDEN);
}

function spellingsOf(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [
    secret,
    inJson,
    JSON.stringify(inJson).slice(1, -1),
    ...(secret.isWellFormed() ? [encodeURIComponent(secret), encodeURI(secret)] : []),
    new URLSearchParams([['', secret]]).toString().slice(1),
    ...(secret.length >= MIN_LENGTH_IN_BASE64 ? base64Cores(secret) : []),
  ];
}

/**
 * The characters of base64 and base64url that depend on the secret alone if other text surrounds it (`Basic
 * user:secret`): one text for each of the three alignments to groups of three bytes.
 */
function base64Cores(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor(((before + bytes.length) * 8) / 6);
    const core = text.slice(first, last);
    return [core, core.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
