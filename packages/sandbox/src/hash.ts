/**
 * Hashes from which items are computed as pure functions of (seed, ID, time): 32-bit, fast, well mixed (the finalizer
 * of MurmurHash3), not cryptographic.
 */
export function mix(a: number, b: number): number {
  let hash = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^ b;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A number in [0, 1) from a hash. */
export function fraction(hash: number): number {
  return hash / 4_294_967_296;
}

/** FNV-1a over the UTF-16 units of a text. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

/** A seeded source of randomness for latency and faults (a hash of a counter). */
export function seededRandom(seed: number): () => number {
  let count = 0;
  return () => {
    count += 1;
    return fraction(mix(seed, count));
  };
}
