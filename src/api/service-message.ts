/** Longest text of the service that goes into a message of ours. */
const MAX_LENGTH = 200;

/**
 * What the body of a refusal says: `{error: {code, message}}`, `{detail}`, `{detail: […]}`, `{message}`, text, or
 * the title of an HTML page (unknowns.md). Empty where it says nothing. Raw: see `quote`.
 */
export function serviceMessage(text: string): string {
  const body = text.trim();
  if (body.startsWith('<')) return /<title[^>]*>([^<]*)/i.exec(body)?.[1] ?? '';
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return body;
  }
  return said(parsed, 0);
}

/**
 * What a 2xx body says that is an error all the same; undefined for one that is none. `error: null`, `''` and
 * `false` are none. Raw: see `quote`.
 */
export function errorInside(body: Readonly<Record<string, unknown>>): string | undefined {
  const error = body['error'] ?? body['errors'];
  const empty = error === undefined || error === null || error === '' || error === false;
  const none = empty || (Array.isArray(error) && error.length === 0);
  if (none && body['object'] !== 'error' && body['success'] !== false) return undefined;
  return said(none ? { ...body, error: undefined } : error, 0) || 'without a message';
}

/** The fields in which services speak, the most telling first. */
const SPEAKING = ['error', 'errors', 'message', 'msg', 'detail', 'title', 'description', 'code'] as const;

function said(value: unknown, depth: number): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'object' || value === null || depth > 4) return '';
  if (Array.isArray(value)) {
    return value
      .slice(0, 3)
      .map((each) => said(each, depth + 1))
      .filter((each) => each !== '')
      .join('; ');
  }
  const fields = value as Readonly<Record<string, unknown>>;
  // FastAPI's {loc: ['query', 'limit'], msg: 'must be …'}.
  const where = Array.isArray(fields['loc']) ? `${fields['loc'].map(String).join('.')}: ` : '';
  for (const field of SPEAKING) {
    const text = said(fields[field], depth + 1);
    if (text === '') continue;
    const code = field === 'message' && typeof fields['code'] === 'string' ? ` (${fields['code']})` : '';
    return `${where}${text}${code}`;
  }
  return '';
}

/**
 * Words of the service as a message of ours may quote them: one line of at most 200 characters, nothing that a
 * terminal would obey, and no secret, should the service repeat one (scrubbed before the cut: no part stays).
 */
export function quote(words: string, scrub: (text: string) => string): string {
  const clean = scrub(words)
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  return clean.length <= MAX_LENGTH ? clean : `${clean.slice(0, MAX_LENGTH - 1).toWellFormed()}…`;
}
