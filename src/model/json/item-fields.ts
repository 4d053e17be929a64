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
  // Few characters of most texts have several bytes: from one to the next, places differ by the same.
  LONGER.lastIndex = 0;
  let found = LONGER.exec(source);
  /** How many bytes there are before `found` besides one for each character. */
  let more = 0;
  for (let next = 0; next < places.length; next += 1) {
    const wanted = places[next] ?? 0;
    while (found !== null && found.index + more < wanted) {
      more += furtherBytes(found[0]);
      found = LONGER.exec(source);
    }
    places[next] = wanted - more;
  }
}

/** A character of several bytes: a whole pair of surrogates, or one code unit. */
const LONGER = /[\ud800-\udbff][\udc00-\udfff]|[^\0-\x7f]/g;

/** A pair has four bytes for two code units; a lone half is written as U+FFFD, which has three. */
function furtherBytes(character: string): number {
  return character.length === 1 && character < '\u0800' ? 1 : 2;
}
