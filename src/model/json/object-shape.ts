import { afterColon, COMMA, QUOTE, stringEnd, valueEnd, valueStart } from './json-scan.ts';

/** With more fields an object is a dictionary: the next one has others. */
export const MOST_FIELDS = 300;

/** Escapes that `canonicalText` spells in another way. */
const RESPELLED = /\\[u/]/;

/** The fields that the last object in one place of an item had. */
export interface Shape {
  /** Names as spelled, quotes included, as UTF-8, in the order of the text. */
  readonly names: readonly Uint8Array[];
  /** The same as they are meant. */
  readonly fields: readonly string[];
  /** Where each field stands in `fields`. */
  readonly places: ReadonlyMap<string, number>;
  /** Where each member, in canonical order, stands in the text; undefined: in this order. */
  readonly order: readonly number[] | undefined;
  /** Shapes of the members that are objects, or arrays of objects. */
  readonly inner: (Shape | undefined)[];
  /** The shape before this one: finished and unfinished rows take turns. */
  readonly other: Shape | undefined;
}

/** The shape of the object that opens at `begin`; undefined: very many names, one twice, or one to be spelled anew. */
export function shapeAt(text: string, begin: number): Shape | undefined {
  const names: string[] = [];
  let at = valueStart(text, begin + 1);
  while (text.charCodeAt(at) === QUOTE) {
    const nameEnd = stringEnd(text, at);
    const name = text.slice(at, nameEnd);
    names.push(name);
    if (names.length > MOST_FIELDS || RESPELLED.test(name)) return undefined;
    at = valueStart(text, valueEnd(text, valueStart(text, afterColon(text, nameEnd))));
    if (text.charCodeAt(at) === COMMA) at = valueStart(text, at + 1);
  }
  if (new Set(names).size < names.length) return undefined;
  const order = [...names.keys()].sort((a, b) => ((names[a] ?? '') < (names[b] ?? '') ? -1 : 1));
  const shared = names.map(sharedName);
  const fields = shared.map((name) => name.meant);
  return {
    names: shared.map((name) => name.bytes),
    fields,
    places: new Map(fields.map((field, place) => [field, place])),
    order: order.every((place, index) => place === index) ? undefined : order,
    inner: names.map(() => undefined),
    other: undefined,
  };
}

interface SharedName {
  readonly bytes: Uint8Array;
  readonly meant: string;
}

/** More are not kept: whose items have ever new names learns them each time. */
const MOST_SHARED = 4096;
/** By their spelling: a thousand accounts have items with the same names. */
const sharedNames = new Map<string, SharedName>();

function sharedName(name: string): SharedName {
  const known = sharedNames.get(name);
  if (known !== undefined) return known;
  // Memory of its own: what Buffer.from gives is a piece of 64 KB, which lasts as long as any of its pieces.
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(name));
  bytes.write(name);
  // Made of bytes: a slice would keep the whole text in memory.
  const spelled = bytes.toString();
  const made = { bytes, meant: meant(spelled) };
  if (sharedNames.size === MOST_SHARED) sharedNames.clear();
  sharedNames.set(spelled, made);
  return made;
}

function meant(name: string): string {
  try {
    return JSON.parse(name) as string;
  } catch {
    return name; // The text is no JSON.
  }
}
