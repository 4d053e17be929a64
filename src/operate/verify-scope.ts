/** `verify` of one scope: reads the service's list beside the mirror's rows, and unequal rows twice. */

import { liveAmong, liveRows } from '../mirror/live-rows.ts';
import { readScope } from '../mirror/scope-store.ts';
import { suspectsAmong } from '../mirror/suspect-store.ts';
import { collection, type CollectionName, type ListCollection, type Scope, scopeName } from '../model/collections.ts';
import { RequestRefused } from '../model/errors.ts';
import { type Item, type Page, stateOf } from '../model/page.ts';
import type { Db } from '../postgres/db.ts';
import type { Exchange } from '../service/api.ts';
import { PRIORITY } from '../service/rate-groups.ts';
import { askPage, type PageAsk } from '../sync/walk-run.ts';
import type { ReadingContext } from '../sync/reading-context.ts';
import { beginFull } from '../walk/full.ts';
import { readMemory } from '../walk/memory.ts';
import { limitToAsk } from '../walk/reading.ts';
import { beginConfirm } from '../walk/refresh.ts';
import { step } from '../walk/step.ts';
import type { Step, WalkAnswer } from '../walk/walk.ts';
import { compareItems, type StorageRules, type UnequalItem } from './compare-rows.ts';

/** Most rows that are read a second time: each takes about 200 bytes of memory. */
const READ_AGAIN = 100_000;
/** Most discrepancies listed for a collection; all are counted. */
export const MOST_LISTED = 1_000;

export interface ScopeVerification {
  readonly context: Pick<ReadingContext, 'fence' | 'source' | 'store' | 'clock' | 'keys'>;
  readonly db: Db;
  readonly scope: Scope;
  readonly rules: StorageRules;
  readonly signal: AbortSignal;
  readonly tally: VerifiedCollection;
  /** Keys of the rows whose pages are read; undefined: all pages are. */
  readonly sample: readonly string[] | undefined;
  /** Gets the keys of each page of the first reading. */
  readonly onPage: (keys: readonly string[]) => void;
  /** Brings the mirror up to date before unequal rows are read again. */
  readonly catchUp: (() => Promise<void>) | undefined;
}

/**
 * Compares a scope with the service. Unequal rows are read again on both sides: only what both readings say counts.
 * @throws RequestRefused if the service can't be read to the end; errors of requests; the signal's reason
 */
export async function verifyScope(verification: ScopeVerification): Promise<void> {
  const { db, scope, tally, sample, onPage, catchUp } = verification;
  const suspects = new Map<string, UnequalItem>();
  for await (const { items, keys, rows, unequal } of readBoth(verification, sample)) {
    tally.items += items;
    if (sample === undefined) tally.rows += rows;
    for (const found of unequal) {
      const isSuspect = !isExplained(found.kind);
      // The second reading says which fields differ.
      if (isSuspect && suspects.size < READ_AGAIN) suspects.set(nameOf(found), { ...found, fields: [] });
      else {
        tally[found.kind] += 1;
        if (isSuspect) tally.readOnce += 1;
      }
    }
    onPage(keys);
  }
  if (suspects.size === 0) return;
  await catchUp?.();
  const keyed = [...suspects.values()].flatMap(({ key }) => key ?? []);
  // Items without a key are found again only if everything is read, or the whole sample.
  const cover = keyed.length === suspects.size ? keyed : sample && [...sample, ...keyed];
  const again = new Map<string, UnequalItem>();
  for await (const { unequal } of readBoth(verification, cover)) {
    for (const found of unequal) if (suspects.has(nameOf(found))) again.set(nameOf(found), found);
  }
  const deletions = await suspectsAmong(db, scope, [...suspects.keys()]);
  for (const [name, first] of suspects) {
    const second = again.get(name);
    const { kind, note } = verdict(first, second, deletions.get(name));
    tally[kind] += 1;
    // Leaves room for certain discrepancies after `changed` ones.
    const room = kind === 'changed' ? MOST_LISTED : 2 * MOST_LISTED;
    if (isExplained(kind) || tally.discrepancies.length >= room) continue;
    const key = first.key === '' ? scope.userId : first.key;
    const fields = kind === 'different' ? (second?.fields ?? []) : [];
    tally.discrepancies.push({ kind, list: scope.parent, key, fields, note });
  }
}

/** What a page, or a batch of the mirror's live rows, shows: new items, live rows, and what is unequal. */
interface Comparison extends Readonly<Record<'items' | 'rows', number>> {
  readonly keys: readonly string[];
  readonly unequal: readonly UnequalItem[];
}

type Compare = (items: readonly Item[]) => Promise<Comparison>;

/** Reads both sides once. @param keys undefined: everything; otherwise as few pages as show them */
async function* readBoth(of: ScopeVerification, keys: readonly string[] | undefined) {
  const { context, db, scope, rules, signal } = of;
  const isSingle = collection(scope.collection).kind === 'single';
  const seen = context.keys.open();
  const compare: Compare = async (items) => {
    const unequal = await compareItems(db, scope, items, rules);
    const byName = new Map(unequal.map((each) => [nameOf(each), each]));
    const itemKeys = items.flatMap(({ key }) => key ?? []);
    const names = [...new Set([...itemKeys, ...byName.keys()])];
    const fresh = names.filter((name) => seen.keep(name, '') === undefined);
    const found = fresh.flatMap((name) => byName.get(name) ?? []);
    const rows = isSingle && found.every(({ kind }) => kind === 'different') ? 1 : 0;
    return { items: fresh.length, keys: itemKeys, rows, unequal: found };
  };
  try {
    const isCovered = yield* readPages(of, keys, compare);
    if (seen.lost) throw new Error('no room in memory or on disk for the keys that were read');
    if (!isCovered || isSingle) return;
    const live = keys === undefined ? liveRows(db, scope) : [await liveAmong(db, scope, keys)];
    for await (const rows of live) {
      signal.throwIfAborted();
      const unseen = rows.filter(({ key }) => !seen.has(key));
      const extra = { kind: 'extra', source: undefined, fields: [], stale: false } as const;
      const unequal = unseen.map(({ key, changeId: row }) => ({ ...extra, key, row }));
      yield { items: 0, keys: [], rows: rows.length, unequal };
    }
  } finally {
    seen.close();
  }
}

/**
 * A list in key order says where keys are; in any other one a sample is a page after each of its rows.
 * @returns whether the service has none of the keys that were on no page
 */
async function* readPages(of: ScopeVerification, keys: readonly string[] | undefined, compare: Compare) {
  const { context, db, scope, sample } = of;
  const list = collection(scope.collection);
  if (list.kind === 'single') {
    const waiting = { signal: new AbortController().signal, stop: of.signal, onExchange: counted(of) };
    const asked = { path: list.path(), route: list.route, priority: PRIORITY.FULL, ...waiting };
    const { source, fields } = await context.source.object(asked);
    yield await compare([{ source, state: stateOf(fields), key: '', problem: undefined }]);
    return true;
  }
  let memory = readMemory((await readScope(db, scope))?.memory ?? {}, list.keyType);
  const now = context.clock.now();
  if (keys !== undefined) {
    const confirmed = yield* walk(of, list, beginConfirm(memory, { keys, now }), compare);
    const { outcome } = confirmed.end;
    if (outcome === 'complete' || outcome === 'reached') return true;
    memory = confirmed.memory;
    if (sample !== undefined && outcome === 'full-needed') {
      const limit = limitToAsk(memory.limit, memory.limit.value);
      for (const cursor of sample) {
        // It is refused if the row before it is gone at the service.
        const { page } = await ask(of, list, { type: 'page', cursor, limit });
        if (page !== undefined) yield await compare(page.items);
      }
      return false;
    }
  }
  const full = beginFull(memory, { liveRows: await context.store.liveRows(scope), now });
  const { end } = yield* walk(of, list, full, compare);
  // A list that is unknown to the service has no items.
  if (end.outcome === 'complete' || (scope.parent !== '' && end.status === 404)) return true;
  throw new RequestRefused(`${scopeName(scope)}: ${end.reason ?? 'could not be read'}`, end.status ?? 0);
}

/** Walks with a copy of the scope's memory, so the mirror's own walks are not affected. */
async function* walk(of: ScopeVerification, list: ListCollection, begun: Step, compare: Compare) {
  const { store, clock } = of.context;
  let { walk: walked, memory, ask: next } = begun;
  while (next.type !== 'end') {
    let page: Page | undefined;
    let answer: WalkAnswer;
    if (next.type === 'page') ({ answer, page } = await ask(of, list, next));
    else {
      const key = await store.predecessor(of.scope, next.direction, next.of, next.nth);
      answer = { type: 'predecessor', key };
    }
    ({ walk: walked, memory, ask: next } = step(walked, memory, answer, clock.now()));
    if (page === undefined) continue;
    const shown = await compare(page.items);
    yield shown;
    // Count rows that the mirror lacks, since a walk takes too many items for a circle.
    const missing = shown.unequal.filter(({ kind }) => kind === 'missing').length;
    memory = { ...memory, rows: memory.rows + missing };
  }
  return { end: next, memory };
}

function ask(of: ScopeVerification, list: ListCollection, asked: PageAsk): ReturnType<typeof askPage> {
  const { context, scope, signal } = of;
  signal.throwIfAborted();
  const broken = new AbortController().signal; // a page on the wire is awaited, since its slot is spent
  const reading = { collection: list, scope, priority: PRIORITY.FULL, signal, broken };
  return askPage(context, asked, { ...reading, onExchange: counted(of) });
}

function counted({ tally }: ScopeVerification): (exchange: Exchange) => void {
  return ({ status }) => {
    tally.requests += 1;
    if (status === 429) tally.rateLimited += 1;
  };
}

/** Identifies an item by its key, otherwise by its content. The account's own row has the key ''. */
function nameOf({ key, source }: Pick<UnequalItem, 'key' | 'source'>): string {
  return key ?? `without key: ${source ?? ''}`;
}

/** The mirror correctly has no row of it. */
function isExplained(kind: UnequalItem['kind'] | 'changed'): kind is 'quarantined' | 'forgotten' {
  return kind === 'quarantined' || kind === 'forgotten';
}

/**
 * Only what both readings show of the same item and the same version of the row counts: a mirror that caught up does
 * not show the same twice.
 * @param second undefined: equal, or gone on both sides
 * @param deletion the mirror suspects it: it waits for the second proof, or has it
 */
export function verdict(
  first: UnequalItem,
  second: UnequalItem | undefined,
  deletion: 'waiting' | 'proven' | undefined,
): Readonly<{ kind: UnequalItem['kind'] | 'changed'; note: string }> {
  const changed = (note: string) => ({ kind: 'changed', note }) as const;
  if (second === undefined) return changed(`${first.kind} at first, equal when read again`);
  const { kind } = second;
  if (isExplained(kind)) return { kind, note: '' };
  if (deletion === 'waiting') return changed('the mirror suspects its deletion and waits for a second proof');
  if (first.kind !== kind || first.source !== second.source || first.row !== second.row)
    return changed('the two readings differ');
  const held = '; its deletion is proven but blocked ("research-mirror status" shows by what)';
  const notes = {
    missing: `${first.row === undefined ? 'no row' : 'marked deleted'} in the mirror`,
    extra: `the service does not have it${deletion === 'proven' ? held : ''}`,
    different: second.stale ? 'Postgres refuses its newest version: mirror.stale_rows says why' : '',
  };
  return { kind, note: notes[kind] };
}

export interface Discrepancy extends Pick<UnequalItem, 'key' | 'fields'> {
  /** As of an UnequalItem; `changed`: a side changed meanwhile, or the mirror suspects the row's deletion. */
  readonly kind: 'missing' | 'extra' | 'different' | 'changed';
  /** The list that the row belongs to; '' outside lists. */
  readonly list: string;
  /** For people; may be ''. */
  readonly note: string;
}

/** How one collection of one account compares; updated while it is read. */
export type VerifiedCollection = ReturnType<typeof notVerified>;

/** Progress of a collection; a daemon of an older version gives no estimate. */
export type VerifyProgress = Pick<VerifiedCollection, 'userId' | 'collection' | 'items'> &
  Partial<Pick<VerifiedCollection, 'estimate'>>;

/** A verification that has not taken place. @param error null: it begins now @param sample chosen rows; null: all */
export function notVerified(
  userId: string,
  collection: CollectionName,
  error: string | null,
  estimate = { requests: 0, seconds: 0 },
  sample: number | null = null,
) {
  return {
    userId,
    collection,
    sample,
    estimate,
    /** Items of the service; of a sample those that were compared. */
    items: 0,
    /** Live rows of the mirror. */
    rows: 0,
    missing: 0,
    extra: 0,
    different: 0,
    changed: 0,
    /** Items of the service that can't be mirrored. */
    quarantined: 0,
    /** Items of the service that were erased here on request. */
    forgotten: 0,
    /** How many of all these were read only once, since there are too many. */
    readOnce: 0,
    requests: 0,
    rateLimited: 0,
    milliseconds: 0,
    /** The first 1,000; `changed` ones last. */
    discrepancies: [] as Discrepancy[],
    error,
  };
}
