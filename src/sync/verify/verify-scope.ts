import type { Db } from '../../db/connection/db.ts';
import { PRIORITY } from '../../budget/priorities.ts';
import { compareItems, type StorageRules, type UnequalItem } from '../../mirror/page/compare-rows.ts';
import { suspectsAmong } from '../../mirror/deletion/stored-suspects.ts';
import { liveAmong, liveRows } from '../../mirror/rows/live-rows.ts';
import { readScope } from '../../mirror/scope/scope-store.ts';
import { type ListCollection, type Scope, scopeName } from '../../model/collections.ts';
import { RequestRefused } from '../../model/errors.ts';
import type { Item } from '../../model/page.ts';
import { beginConfirm } from '../../walk/kinds/confirm.ts';
import { beginFull } from '../../walk/kinds/full.ts';
import { readMemory, type ScopeMemory, usableDirection } from '../../walk/memory/memory.ts';
import type { End, Step } from '../../walk/walk.ts';
import type { Findings, SetApart } from './findings.ts';
import { KeySet } from './verify-keys.ts';
import { type Sighting, verdict } from './row-verdict.ts';
import { type QuietReading, walkQuietly } from './verify-walk.ts';

/** Rows that are read a second time, at most: what is remembered of each takes some 200 bytes. */
const READ_AGAIN = 100_000;

/** A scope's verification. */
export interface ScopeVerification {
  readonly reading: Omit<QuietReading, 'priority'>;
  readonly db: Db;
  readonly rules: StorageRules;
  readonly findings: Findings;
  /** Called for each page of the first reading. */
  readonly onPage: (page: { readonly items: number; readonly unequal: number }) => void;
  /** Lets the mirror catch up with the service before differing rows are read again; left out: it stays as it is. */
  readonly catchUp?: () => Promise<void>;
  /** Called for each key that the service has. */
  readonly onKey?: (key: string) => void;
}

/** Rows that were not equal at the first reading, by key; an item without key is under its hash. */
type SecondLook = Map<string, Sighting & { readonly key: string | undefined }>;

/** Said of a row whose newest version Postgres refuses. */
export const STALE = 'Postgres refuses its newest version: mirror.stale_rows says why';

/** What the second reading found. */
type Again = Map<string, Sighting & Pick<UnequalItem, 'fields' | 'stale'>>;

/**
 * Compares one scope with the service: all pages, and the mirror's live rows that were on none of them. Unequal rows
 * are read again on both sides before they are reported.
 * @returns live rows of the mirror
 * @throws RequestRefused where the service can't be read to the end; what requests throw
 */
export async function verifyScope(verification: ScopeVerification): Promise<number> {
  return new ScopeReadings(verification).run();
}

class ScopeReadings {
  readonly #verification: ScopeVerification;
  readonly #reading: QuietReading;
  readonly #scope: Scope;
  readonly #collection: ListCollection;
  readonly #seen = new KeySet();
  /** The service has them, and the mirror has them apart. */
  readonly #apart: Readonly<Record<SetApart, KeySet>> = {
    quarantined: new KeySet(),
    forgotten: new KeySet(),
  };
  readonly #toReadAgain: SecondLook = new Map();
  readonly #again: Again = new Map();

  constructor(verification: ScopeVerification) {
    const { reading } = verification;
    this.#verification = verification;
    this.#scope = reading.scope;
    this.#collection = reading.collection;
    this.#reading = {
      ...reading,
      priority: reading.scope.parent === '' ? PRIORITY.FULL : PRIORITY.LISTS,
    };
  }

  async run(): Promise<number> {
    const memory = await this.#readFirst();
    const rows = await this.#readRows();
    if (this.#toReadAgain.size > 0) {
      await this.#verification.catchUp?.();
      await this.#readAgain(memory);
      await this.#judge();
    }
    const { findings } = this.#verification;
    findings.setApart('quarantined', this.#apart.quarantined.size);
    findings.setApart('forgotten', this.#apart.forgotten.size);
    return rows;
  }

  async #readFirst(): Promise<ScopeMemory> {
    const { db, onPage, onKey } = this.#verification;
    const stored = await readScope(db, this.#scope);
    const memory = readMemory(stored?.memory ?? {}, this.#collection.keyType);
    const read = await this.#walk(await this.#whole(memory), async (items) => {
      const { keys, unequal } = await this.#compare(items);
      const missing = new Set<string>();
      for (const { key, kind, source, row } of unequal) {
        if (kind === 'missing' && key !== undefined) missing.add(key);
        this.#note({ key, kind, source, row });
      }
      const names = [...keys, ...unequal.filter(({ key }) => key === undefined).map(nameOf)];
      const fresh = names.filter((name) => !this.#seen.has(name));
      for (const name of fresh) this.#seen.add(name);
      for (const key of keys) onKey?.(key);
      onPage({ items: fresh.length, unequal: unequal.length });
      return (key) => !missing.has(key);
    });
    return read;
  }

  /** Live rows that were on no page. @returns how many live rows there are */
  async #readRows(): Promise<number> {
    const { db, onPage } = this.#verification;
    let rows = 0;
    for await (const batch of liveRows(db, this.#scope)) {
      this.#reading.signal.throwIfAborted();
      rows += batch.length;
      const unseen = batch.filter(({ key }) => !this.#seen.has(key));
      for (const { key, changeId } of unseen) {
        this.#note({ key, kind: 'extra', source: undefined, row: changeId });
      }
      onPage({ items: 0, unequal: unseen.length });
    }
    return rows;
  }

  #note(seen: Sighting & { readonly key: string | undefined }): void {
    const { findings } = this.#verification;
    if (seen.kind === 'equal') return;
    if (seen.kind === 'quarantined' || seen.kind === 'forgotten') this.#apart[seen.kind].add(nameOf(seen));
    else if (this.#toReadAgain.size < READ_AGAIN) this.#toReadAgain.set(nameOf(seen), seen);
    else findings.addReadOnce(seen.kind, 1);
  }

  /** The second reading: the fewest pages where the order is known, else all of them. */
  async #readAgain(memory: ScopeMemory): Promise<void> {
    const names = [...this.#toReadAgain.values()].map(({ key }) => key);
    const keys = names.filter((key) => key !== undefined);
    const onPage = async (items: readonly Item[]): Promise<(key: string) => boolean> => {
      const asked = items.filter(({ key }) => key === undefined || this.#toReadAgain.has(key));
      const { keys: read, unequal } = await this.#compare(asked);
      for (const key of read) this.#again.set(key, { kind: 'equal', source: '', row: undefined, fields: [] });
      for (const found of unequal) this.#again.set(nameOf(found), found);
      return () => true;
    };
    if (usableDirection(memory) !== null && keys.length === names.length) {
      const now = this.#reading.context.clock.now();
      const { end } = await walkQuietly(this.#reading, beginConfirm(memory, { keys, now }), onPage);
      if (end.outcome === 'reached' || end.outcome === 'complete') return;
      this.#again.clear();
    }
    await this.#walk(await this.#whole(memory), onPage);
  }

  async #judge(): Promise<void> {
    const { db, findings } = this.#verification;
    const unseen = [...this.#toReadAgain.values()].flatMap(({ key }) =>
      key === undefined || this.#again.has(key) ? [] : [key],
    );
    const live = await liveAmong(db, this.#scope, unseen);
    const suspectsHere = await suspectsAmong(db, this.#scope, [...this.#toReadAgain.keys()]);
    for (const [name, first] of this.#toReadAgain) {
      const second = this.#again.get(name) ?? unseenAgain(live.get(name));
      const suspicion = suspectsHere.get(name);
      const kind = verdict(first, second, suspicion === 'waiting');
      if (kind === 'quarantined' || kind === 'forgotten') {
        this.#apart[kind].add(name);
        continue;
      }
      findings.add(kind, () => ({
        list: this.#scope.parent,
        key: first.key,
        fields: kind === 'different' ? second.fields : [],
        note: second.stale === true ? STALE : noteOn(kind, first, second, suspicion),
      }));
    }
  }

  #compare(items: readonly Item[]): ReturnType<typeof compareItems> {
    const { db, rules } = this.#verification;
    return compareItems(db, this.#scope, items, rules);
  }

  async #whole(memory: ScopeMemory): Promise<Step> {
    const { context } = this.#reading;
    const liveRows = await context.store.liveRows(this.#scope);
    return beginFull(memory, { liveRows, now: context.clock.now() });
  }

  async #walk(begun: Step, onPage: Parameters<typeof walkQuietly>[2]): Promise<ScopeMemory> {
    const { end, memory } = await walkQuietly(this.#reading, begun, onPage);
    if (end.outcome !== 'complete' && !isGone(this.#scope, end)) {
      throw new RequestRefused(
        `${scopeName(this.#scope)}: ${end.reason ?? 'could not be read'}`,
        end.status ?? 0,
      );
    }
    return memory;
  }
}

/** A list that the service does not know has no items. */
function isGone(scope: Scope, end: End): boolean {
  return scope.parent !== '' && end.outcome === 'failed' && end.status === 404;
}

function nameOf({
  key,
  source,
}: {
  readonly key: string | undefined;
  readonly source: string | undefined;
}): string {
  return key ?? `without key: ${source ?? ''}`;
}

/** A row whose item was not seen at the second reading. */
function unseenAgain(row: string | undefined): Sighting & Pick<UnequalItem, 'fields' | 'stale'> {
  return { kind: row === undefined ? 'equal' : 'extra', source: undefined, row, fields: [] };
}

function noteOn(
  kind: ReturnType<typeof verdict>,
  first: Sighting,
  second: Sighting,
  suspicion: 'waiting' | 'proven' | undefined,
): string {
  if (kind === 'missing') {
    return second.row === undefined ? 'no row in the mirror' : 'marked deleted in the mirror';
  }
  if (kind === 'extra') {
    return suspicion === 'proven'
      ? 'the service does not have it; its deletion is proven, and held back ("research-mirror status" says by what)'
      : 'the service does not have it';
  }
  if (kind !== 'changed') return '';
  if (suspicion === 'waiting') return 'the mirror has it in doubt, and waits for a second proof';
  return second.kind === 'equal'
    ? `${first.kind} at first, equal when read again`
    : 'read twice, with two answers';
}
