/** JSON with numbers kept as their source text (ECMAScript's JSON.rawJSON), which TypeScript's library lacks yet. */
interface SourceTextJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
}

const exact = JSON as unknown as SourceTextJson;

/** Parses so that `JSON.stringify` of the result spells every number as `text` did. @throws SyntaxError */
export function parseExact(text: string): unknown {
  return exact.parse(text, (_key, value, context) =>
    typeof value === 'number' && context.source !== undefined ? exact.rawJSON(context.source) : value,
  );
}

/** A number that `JSON.stringify` spells as `text`, whatever its size. */
export function exactNumber(text: string): unknown {
  return exact.rawJSON(text);
}

/** True for what `parseExact` and `exactNumber` make of a number. */
export function isExactNumber(value: unknown): boolean {
  return exact.isRawJSON(value);
}
