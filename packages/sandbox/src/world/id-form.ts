import { fraction, mix } from '../hash.ts';

/**
 * The form of a population's IDs. A population numbers its items 0, 1, 2 … (slots, in the order of creation). The form
 * maps a slot to an ID and back in O(1), so no ID is stored.
 */
export interface IdForm {
  /** The ID as the item's field spells it in JSON. */
  readonly json: (slot: number) => string;
  /** The slot whose ID is exactly `text`; undefined where no slot can have it. */
  readonly slotOf: (text: string) => number | undefined;
  /**
   * The rank of an ID among the slots: the slot itself, or a fraction between two slots for an ID that has none. No two
   * IDs have the same rank. Undefined for a text that is not an ID of this form (the service's "invalid cursor").
   */
  readonly rankOf: (text: string) => number | undefined;
}

export const ID_FORMS = ['integer', 'beyond-2^53', 'string', 'odd', 'uuid', 'uuid-by-time'] as const;
/** Forms of the IDs that are numbers in the specification. */
export const NUMERIC_ID_FORMS = ['integer', 'beyond-2^53', 'digits', 'beyond-2^63', 'uuid'] as const;
export type IdFormName = (typeof ID_FORMS)[number] | (typeof NUMERIC_ID_FORMS)[number];

/** Numbers per slot: an integer ID is one of them, so IDs have gaps. */
const GAP = 4;
const FIRST_INTEGER = 1000;
/** 2^53: above, a program that reads integers as doubles confuses neighbours. */
const BEYOND_DOUBLE = 2n ** 53n;
/** 2^63: from here on integers do not fit a signed 64-bit column. */
const BEYOND_INT8 = 2n ** 63n;

/**
 * @param salt makes the gaps of this population differ from those of others
 * @param shift added to each slot: lists share the IDs of the accounts on them
 */
export function idForm(name: IdFormName, salt: number, shift = 0): IdForm {
  const integers = integerForm(salt, shift);
  switch (name) {
    case 'integer':
      return integers;
    case 'beyond-2^53':
      return beyondForm(integers, BEYOND_DOUBLE);
    case 'beyond-2^63':
      return beyondForm(integers, BEYOND_INT8);
    case 'digits':
      return { ...integers, json: (slot) => `"${integers.json(slot)}"` };
    case 'string':
      return prefixedForm(integers, 'acc_');
    case 'odd':
      return prefixedForm(integers, 'a/b c&é%2F?#+=:');
    case 'uuid':
      return uuidForm(salt, shift, UUID_ODD);
    case 'uuid-by-time':
      return uuidForm(salt, shift, 1);
  }
}

function integerForm(salt: number, shift: number): IdForm {
  const numberOf = (slot: number): number =>
    FIRST_INTEGER + (slot + shift) * GAP + (mix(salt, slot + shift) % (GAP - 1));
  const rankOf = (text: string): number | undefined => {
    if (!/^-?\d+$/.test(text)) return undefined;
    const number = Number(text);
    const slot = Math.floor((number - FIRST_INTEGER) / GAP) - shift;
    const below = number < numberOf(slot) ? slot - 1 : slot;
    const [low, high] = [numberOf(below), numberOf(below + 1)];
    // Beyond the numbers that are exact, neighbours can't be told apart.
    return high > low ? below + (number - low) / (high - low) : below;
  };
  return {
    json: (slot) => String(numberOf(slot)),
    rankOf,
    slotOf(text) {
      const rank = rankOf(text);
      return rank !== undefined && rank >= 0 && Number.isInteger(rank) && String(numberOf(rank)) === text
        ? rank
        : undefined;
    },
  };
}

function beyondForm(integers: IdForm, beyond: bigint): IdForm {
  return wrapped(
    integers,
    (integer) => String(beyond + BigInt(integer)),
    (text) => (/^\d+$/.test(text) ? String(BigInt(text) - beyond) : undefined),
  );
}

/** Texts that end in a number; most prefixes must be encoded in a URL. */
function prefixedForm(integers: IdForm, prefix: string): IdForm {
  return wrapped(
    integers,
    (integer) => `"${prefix}${integer}"`,
    (text) => (text.startsWith(prefix) ? text.slice(prefix.length) : undefined),
  );
}

/** A form whose IDs are made of those of another one. */
function wrapped(
  { json, slotOf, rankOf }: IdForm,
  wrap: (id: string) => string,
  unwrap: (text: string) => string | undefined,
): IdForm {
  const inner = (read: IdForm['slotOf']) => (text: string) => {
    const id = unwrap(text);
    return id === undefined ? undefined : read(id);
  };
  return { json: (slot) => wrap(json(slot)), slotOf: inner(slotOf), rankOf: inner(rankOf) };
}

/** An odd factor scatters the first digits of the UUIDs; its inverse modulo 2^32 finds the slot again. */
const UUID_ODD = 0x9e3779b1;

function uuidForm(salt: number, shift: number, factor: number): IdForm {
  const inverse = inverseModulo32(factor);
  const textOf = (slot: number): string => {
    const number = slot + shift;
    const head = hex(Math.imul(number, factor) >>> 0, 8);
    const a = hex(mix(salt, number), 8);
    const b = hex(mix(salt + 1, number), 8);
    const tail = hex(Math.floor(fraction(mix(salt + 2, number)) * 0x10000000), 7);
    return `${head}-${a.slice(0, 4)}-4${a.slice(4, 7)}-8${b.slice(0, 3)}-${b.slice(3)}${tail}`;
  };
  const slotOf = (text: string): number | undefined => {
    if (!/^[0-9a-f]{8}-/.test(text)) return undefined;
    const slot = (Math.imul(Number.parseInt(text.slice(0, 8), 16), inverse) >>> 0) - shift;
    return slot >= 0 && textOf(slot) === text ? slot : undefined;
  };
  return { json: (slot) => `"${textOf(slot)}"`, slotOf, rankOf: slotOf };
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0');
}

/** Newton's iteration: each step doubles the number of correct low bits. */
function inverseModulo32(odd: number): number {
  let inverse = odd;
  for (let step = 0; step < 5; step += 1) inverse = Math.imul(inverse, 2 - Math.imul(odd, inverse));
  return inverse >>> 0;
}
