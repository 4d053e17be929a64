import type { KeyStore } from '@research-mirror/runtime/kept-keys';
import type { AbsenceProof } from '../../model/absence.ts';
import { isCopy, type Page } from '../../model/page.ts';
import { orderGrade } from '../../walk/memory/memory.ts';
import type { End, Walk } from '../../walk/walk.ts';
import type { ScopeSession } from '../scope/scope-session.ts';
import type { ReadWhole } from './walk-result.ts';
import { walkBegan } from './page-decision.ts';
import { WholeReading } from '../scope/whole-reading.ts';
import type { WrittenStep } from './write-step.ts';

/** Rows of which a full walk remembers key and content though their order is trusted. */
const REMEMBERED_ROWS = 100_000;

/** What a running walk suspects and proves, page by page. */
export class WalkProofs {
  readonly #session: ScopeSession;
  readonly #startedAt: Date;
  /** What a full walk sees, while that may prove something. */
  reading: WholeReading | undefined;
  /** When the first request was sent, by the database's clock. */
  began: Date | undefined;
  /** Nothing was there before, so nothing can be missing. (A failed first load leaves rows, which may go since.) */
  readonly #firstLoad: boolean;
  /** Every page so far was read in trusted order: each shows what it lacks. */
  #trusted = true;
  #overlooks = false;
  /** Rows are newly suspected. */
  raised = false;
  /** Rows are proven gone. */
  proven = false;
  /** Given once the walk has read every item of its scope. */
  whole: ReadWhole | undefined;

  /**
   * @param startedAt when this run of the walk began
   * @param keys remember what a full walk sees
   */
  constructor(session: ScopeSession, walk: Walk, startedAt: Date, keys: KeyStore) {
    this.#session = session;
    this.#startedAt = startedAt;
    this.#firstLoad = !session.everComplete && walk.kind === 'full' && walk.liveRows === 0;
    if (walk.kind === 'full' && !walk.resumed && !this.#firstLoad) this.reading = new WholeReading(keys);
    if (walk.kind === 'full') session.whole = this.reading;
    if (walk.kind === 'full') session.badItems = walk.resumed ? undefined : new Set();
  }

  /** Call it for each answer, before it is written. @param walk after its step @param keys of the page's items */
  pageCame(walk: Walk, page: Page | undefined, keys: readonly string[]): void {
    // An item without usable key may be any row: the page does not show what it lacks.
    if (keys.length !== (page?.items.length ?? 0)) this.#trusted = false;
    // A copy may show rows that were gone before the walk began.
    if (!isCopy(page?.served)) {
      for (const key of keys) this.#session.since?.keep(key, '');
      if (walk.kind !== 'full') this.#session.whole?.sighted(keys);
    }
    if (walk.kind !== 'full') return;
    // A trusted order proves what is missing, so the keys of very many rows need not be remembered. (It does not
    // prove the list's end where the service leaves out `has_more`, or gives one item at a time.)
    const first = this.began === undefined && page?.hasMore !== undefined && keys.length > 1;
    const trusted = first && orderGrade(this.#session.memory) === 'trusted';
    const needless = trusted && walk.liveRows > REMEMBERED_ROWS;
    if (walk.restarts > 0 || needless) this.#forget();
  }

  /** @param proof what the page proves absent */
  pageWritten(
    walk: Walk,
    end: End | undefined,
    proof: AbsenceProof | null,
    step: Omit<WrittenStep, 'outcomes' | 'counts'>,
  ): void {
    this.raised ||= step.raised;
    this.proven ||= step.proven;
    this.#overlooks ||= step.overlooks;
    // A later answer may be an older one, from a cache.
    if (this.began === undefined || step.sentAt < this.began) this.began = step.sentAt;
    this.#trusted &&= orderGrade(this.#session.memory) === 'trusted';
    const isPart = walk.kind === 'full' && end?.outcome === 'reached';
    // An end with a status came without a page.
    if (!(isPart || end?.outcome === 'complete') || end.status !== undefined) return;
    // A page proves absent what is beyond its last item only if it shows that nothing follows.
    const isCovered = isPart || proof?.kind === 'snapshot' || proof?.through === null;
    const resumed = walk.kind === 'full' && walk.resumed;
    const sawAll = !resumed && (step.judged || this.#firstLoad);
    this.whole = {
      began: walkBegan(walk, this.#startedAt, this.began),
      conclusive: walk.restarts === 0 && !this.#overlooks && ((this.#trusted && isCovered) || sawAll),
      overlooks: this.#overlooks,
      complete: step.complete,
    };
  }

  /** The walk is over. */
  end(walk: Walk): void {
    if (walk.kind !== 'full') return;
    this.#forget();
    this.#session.badItems = undefined;
  }

  #forget(): void {
    this.reading?.close();
    this.reading = undefined;
    this.#session.whole = undefined;
  }
}
