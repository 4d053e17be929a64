/** Source texts of an item's top-level fields: those of `fieldSources`, or ItemFields. */
export interface FieldSources extends Iterable<readonly [field: string, source: string]> {
  get(field: string): string | undefined;
  /** The fields' names, where items with the same ones have the same array. */
  readonly names?: readonly string[];
}

/** Fields of an item whose shape is known: a value is cut out when it is asked for. */
export class ItemFields implements FieldSources {
  readonly names: readonly string[];
  readonly #places: ReadonlyMap<string, number>;
  readonly #source: string;
  /** Begin and end of each value, in the order of `names`. */
  readonly #bounds: readonly number[];

  constructor(
    source: string,
    names: readonly string[],
    places: ReadonlyMap<string, number>,
    bounds: readonly number[],
  ) {
    this.#source = source;
    this.names = names;
    this.#places = places;
    this.#bounds = bounds;
  }

  get(field: string): string | undefined {
    const place = this.#places.get(field);
    return place === undefined ? undefined : this.#valueAt(place);
  }

  *[Symbol.iterator](): Iterator<[string, string]> {
    for (const [place, name] of this.names.entries()) yield [name, this.#valueAt(place)];
  }

  #valueAt(place: number): string {
    return this.#source.slice(this.#bounds[2 * place], this.#bounds[2 * place + 1]);
  }
}

/** Makes places in a text's UTF-8, in rising order, places in the text. */
export function toCharacters(places: number[], source: string): void {
  let byte = 0;
  let at = 0;
  for (let next = 0; next < places.length; next += 1) {
    const wanted = places[next] ?? 0;
    while (byte < wanted && at < source.length) {
      const code = source.charCodeAt(at);
      at += 1;
      if (code < 0x80) byte += 1;
      else if (code < 0x800) byte += 2;
      else if (isHigh(code) && isLow(source.charCodeAt(at))) {
        byte += 4;
        at += 1;
      } else byte += 3;
    }
    places[next] = at;
  }
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code < 0xe000;
}
