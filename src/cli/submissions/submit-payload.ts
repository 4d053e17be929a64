import { UsageError } from '../terminal/usage-error.ts';

/**
 * Checks a payload as somebody gave it: a JSON object without a field that occurs twice, of which Postgres would
 * silently keep the last.
 * @returns the same text: it is never printed anew, so that no digit is lost
 * @throws UsageError
 */
export function checkPayload(text: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--data: is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UsageError("--data: must be a JSON object, such as '{}'");
  }
  const twice = repeatedField(text);
  if (twice !== undefined)
    throw new UsageError(`--data: the field ${JSON.stringify(twice)} stands twice in an object`);
  return text;
}

/** The first name that an object of the JSON text has twice. @param text that JSON.parse has accepted */
export function repeatedField(text: string): string | undefined {
  const objects: Set<string>[] = [];
  for (const [token, name] of text.matchAll(/"((?:[^"\\]|\\.)*)"\s*:|"(?:[^"\\]|\\.)*"|[{}]/gs)) {
    if (token === '{') objects.push(new Set());
    else if (token === '}') objects.pop();
    else if (name !== undefined) {
      const field = JSON.parse(`"${name}"`) as string;
      const names = objects.at(-1);
      if (names?.has(field) === true) return field;
      names?.add(field);
    }
  }
  return undefined;
}
