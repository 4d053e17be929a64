import type { Pulse } from './pulse.ts';

/** What a slot of a sequence is. */
export type Origin =
  | { readonly kind: 'initial' }
  | { readonly kind: 'birth'; readonly number: number }
  | { readonly kind: 'post'; readonly at: number };

interface Post {
  readonly slot: number;
  readonly at: number;
}

/**
 * The sequence from which a population takes its slots, like a database sequence: first the initial items, then
 * births (at a rate) and posts (when they happen) in order of time. A post shifts the births after it by one slot,
 * so every ID is used once and rises with the time of creation. Memory: one entry a post.
 */
export class Sequence {
  readonly initial: number;
  readonly births: Pulse;
  readonly #posts: Post[] = [];

  constructor(initial: number, births: Pulse) {
    this.initial = initial;
    this.births = births;
  }

  /** Number of slots that may be in use at `time`, posts made later included. */
  size(time: number): number {
    return this.initial + this.births.count(time) + this.#posts.length;
  }

  /** Takes the next slot at `time`, which is not before any earlier post. */
  post(time: number): number {
    const slot = this.size(time);
    this.#posts.push({ slot, at: time });
    return slot;
  }

  origin(slot: number): Origin {
    if (slot < this.initial) return { kind: 'initial' };
    const before = this.#postsBefore(slot);
    const post = this.#posts[before];
    if (post?.slot === slot) return { kind: 'post', at: post.at };
    return { kind: 'birth', number: slot - this.initial - before };
  }

  /** Moments of the posts, in order. */
  postTimes(): readonly number[] {
    return this.#posts.map((post) => post.at);
  }

  #postsBefore(slot: number): number {
    let [low, high] = [0, this.#posts.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#posts[middle]?.slot ?? 0) < slot) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
