import { jsonbText } from '../../model/json/jsonb-text.ts';

/** A response's body as the columns `response` and `_verbatim` hold it. */
export interface StoredResponse {
  /** JSON text that jsonb can hold: the body itself, or a JSON string of a body that is no JSON. */
  readonly response: string;
  /** The exact JSON text where characters had to be replaced. */
  readonly verbatim: string | null;
}

/**
 * The body whole, whatever it is (docs/design/operations-out.md, "What came of it"): no digit is lost.
 * @param asText also a body that is JSON: jsonb can't hold it (numbers beyond `numeric`, nesting beyond its stack)
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
