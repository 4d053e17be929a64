/**
 * JSON in one spelling: fields sorted by name (code points), no white space, everything but printable ASCII escaped,
 * the last one of duplicate fields. Python prints it by
 * `json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)`, except that numbers keep their text:
 * a program prints the numbers of a body and of its canonical form alike.
 *
 * @returns undefined for text that is not JSON, or nested more deeply than the stack allows
 */
export function canonicalJson(text: string): string | undefined {
  try {
    JSON.parse(text);
    // A reviver that keeps the text of numbers takes a second for a megabyte: they become strings, told by a letter.
    const told = text.replaceAll(
      /"([^"\\]*(?:\\.[^"\\]*)*")|-?\d[\d.eE+-]*/g,
      (token, string: string | undefined) => (string === undefined ? `"n${token}"` : `"s${string}`),
    );
    return printed(JSON.parse(told)).replaceAll(
      /[\u007f-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  } catch {
    return undefined;
  }
}

function printed(value: unknown): string {
  if (typeof value === 'string') return value.startsWith('n') ? value.slice(1) : quoted(value);
  if (Array.isArray(value)) return `[${value.map(printed).join(',')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const fields = Object.entries(value).sort(([a], [b]) => compareCodePoints(a, b));
  return `{${fields.map(([name, inner]) => `${quoted(name)}:${printed(inner)}`).join(',')}}`;
}

function quoted(told: string): string {
  return JSON.stringify(told.slice(1));
}

/** JavaScript's own order is by UTF-16 units: it puts U+E000 to U+FFFF behind all pairs. */
function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const [x, y] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (x !== y) return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : -1;
  }
  return a.length - b.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}
