import { firstAbove } from './sorted.ts';
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
    const before = firstAbove(this.#posts, (post) => post.slot, slot - 1);
    const post = this.#posts[before];
    if (post?.slot === slot) return { kind: 'post', at: post.at };
    return { kind: 'birth', number: slot - this.initial - before };
  }

  /** Number of posts, all told. */
  get posts(): number {
    return this.#posts.length;
  }

  /** Number of posts later than `time`. */
  postsAfter(time: number): number {
    return this.#posts.length - firstAbove(this.#posts, (post) => post.at, time);
  }
}
