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

/** Parses JSON; `JSON.stringify` of the result spells every number as `text` does. @throws SyntaxError */
export function parseExact(text: string): unknown {
  return exact.parse(text, (_key, value, context) =>
    typeof value === 'number' && context.source !== undefined ? exact.rawJSON(context.source) : value,
  );
}

/** A number that `JSON.stringify` spells as `text`, whatever its size. */
export function exactNumber(text: string): unknown {
  return exact.rawJSON(text);
}

/** True for a number as `parseExact` and `exactNumber` return it. */
export function isExactNumber(value: unknown): boolean {
  return exact.isRawJSON(value);
}
