import { isExactNumber, parseExact } from '../exact-json.ts';

/**
 * JSON with keys sorted by code points, without blanks, in ASCII: some services sign this instead of the bytes that
 * they send (Python: `json.dumps(…, sort_keys=True, separators=(',', ':'))`). Numbers keep their spelling.
 * @param text JSON
 */
export function canonicalJson(text: string): string {
  return written(parseExact(text));
}

function written(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(written).join(',')}]`;
  if (typeof value !== 'object' || value === null || isExactNumber(value))
    return ascii(JSON.stringify(value));
  const members = Object.entries(value).toSorted(([a], [b]) =>
    Buffer.compare(Buffer.from(a), Buffer.from(b)),
  );
  return `{${members.map(([name, member]) => `${ascii(JSON.stringify(name))}:${written(member)}`).join(',')}}`;
}

/** Escapes what is not printable ASCII, each UTF-16 unit by itself. */
function ascii(json: string): string {
  return json.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
