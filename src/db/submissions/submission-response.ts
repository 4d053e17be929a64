import { jsonbText } from '../../model/json/jsonb-text.ts';

/** A response's body as the columns `response` and `_verbatim` store it. */
export interface StoredResponse {
  /** JSON text that jsonb takes: the body itself, or a JSON string of a body that is no JSON. */
  readonly response: string;
  /** The exact JSON text where characters had to be replaced. */
  readonly verbatim: string | null;
}

/**
 * The whole body, with every digit (docs/design/operations-out.md, "What came of it").
 * @param asText stores a body that is JSON as a string, too: jsonb refuses it (numbers beyond `numeric`, deep
 *   nesting)
 */
export function storedResponse(body: string, asText = false): StoredResponse {
  const { raw, verbatim } = jsonbText(!asText && isJson(body) ? body : JSON.stringify(body));
  return { response: raw, verbatim: verbatim ?? null };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
