import { firstAbove } from './sorted.ts';
import type { SteadyRate } from './steady-rate.ts';

interface Post {
  readonly slot: number;
  readonly at: number;
}

/**
 * The sequence of a population's slots, like a database sequence: first the initial items, then creations (at a rate)
 * and posts (by requests) in order of time. A post shifts later creations by one slot: every ID is used once, and IDs
 * rise with the time of creation. Memory: one entry for each post.
 */
export class Sequence {
  readonly initial: number;
  readonly creations: SteadyRate;
  readonly #posts: Post[] = [];

  constructor(initial: number, creations: SteadyRate) {
    this.initial = initial;
    this.creations = creations;
  }

  /** Number of slots that may be in use at `time`, posts made later included. */
  size(time: number): number {
    return this.initial + this.creations.count(time) + this.#posts.length;
  }

  /** Takes the next slot at `time`, which is not before any earlier post. */
  post(time: number): number {
    const slot = this.size(time);
    this.#posts.push({ slot, at: time });
    return slot;
  }

  /** When a slot that is not an initial one was created, and whether by a post. */
  creation(slot: number): { readonly at: number; readonly isPost: boolean } {
    const before = firstAbove(this.#posts, (post) => post.slot, slot - 1);
    const post = this.#posts[before];
    if (post?.slot === slot) return { at: post.at, isPost: true };
    return { at: this.creations.at(slot - this.initial - before), isPost: false };
  }

  /** Number of posts. */
  get posts(): number {
    return this.#posts.length;
  }
}
