const HIDDEN = '***';
/** Below this a "secret" is a part of ordinary words and numbers: replacing it would garble every line. */
const LEAST_LENGTH = 4;
/** From here on a secret is long enough to be looked for inside other base64 text. */
const LEAST_LENGTH_IN_BASE64 = 8;

/**
 * Replaces every secret in a text by `***`, in each spelling in which a program may come to print it: as it is,
 * inside JSON (also JSON inside JSON), URL-encoded, and within base64 (`Basic` credentials). Secrets that are
 * learnt while the program runs are added.
 */
export class Scrubber {
  readonly #spellings = new Set<string>();
  #pattern: RegExp | undefined;

  constructor(secrets: readonly string[] = []) {
    this.hide(...secrets);
  }

  /** From now on these are hidden too. */
  hide(...secrets: readonly string[]): void {
    for (const secret of secrets.filter((each) => each.length >= LEAST_LENGTH)) {
      for (const spelling of spellingsOf(secret)) this.#spellings.add(spelling);
    }
    if (this.#spellings.size === 0) return;
    // Longest first: a secret that begins with another one is replaced whole.
    const longestFirst = [...this.#spellings].toSorted((a, b) => b.length - a.length);
    this.#pattern = new RegExp(longestFirst.map((spelling) => RegExp.escape(spelling)).join('|'), 'g');
  }

  /** Bound, so that it can be handed on as a function. */
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
    ...(secret.length >= LEAST_LENGTH_IN_BASE64 ? base64Cores(secret) : []),
  ];
}

/**
 * The characters of base64 that depend on the secret alone, for each of the three ways in which it may be aligned
 * to groups of three bytes when other text stands before and behind it (`Basic user:secret`); base64url too.
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
