import type { Db } from '../../db/connection/db.ts';
import type { Exchange } from '../../api/api.ts';
import { PRIORITY } from '../../budget/priorities.ts';
import { compareItems, type StorageRules, type UnequalItem } from '../../mirror/page/compare-rows.ts';
import type { SingleCollection } from '../../model/collections.ts';
import { stateOf } from '../../model/row-state.ts';
import type { ReadingContext } from '../reader/reading-context.ts';
import type { Findings } from './findings.ts';
import { type Sighting, verdict } from './row-verdict.ts';
import { STALE } from './verify-scope.ts';

export interface SingleVerification {
  readonly context: Pick<ReadingContext, 'source'>;
  readonly userId: string;
  readonly collection: SingleCollection;
  readonly db: Db;
  readonly rules: StorageRules;
  readonly findings: Findings;
  readonly signal: AbortSignal;
  readonly onExchange: (exchange: Exchange) => void;
}

/** Compares the row of an endpoint that answers one object; what is not equal is read a second time. */
export async function verifySingle(verification: SingleVerification): Promise<{ readonly rows: number }> {
  const { findings } = verification;
  const first = await look(verification);
  if (first.kind === 'equal') return { rows: 1 };
  const second = await look(verification);
  const kind = verdict(first, second, false);
  if (kind === 'quarantined' || kind === 'forgotten') {
    findings.setApart(kind, 1);
    return { rows: second.row === undefined ? 0 : 1 };
  }
  const missing = second.row === undefined ? 'no row in the mirror' : 'marked deleted in the mirror';
  const stale = second.stale === true ? STALE : '';
  findings.add(kind, () => ({
    list: '',
    key: verification.userId,
    fields: kind === 'different' ? second.fields : [],
    note: kind === 'missing' ? missing : kind === 'changed' ? 'read twice, with two answers' : stale,
  }));
  return { rows: second.kind === 'missing' ? 0 : 1 };
}

async function look(of: SingleVerification): Promise<Sighting & Pick<UnequalItem, 'fields' | 'stale'>> {
  const { name, path, route } = of.collection;
  const { source, fields } = await of.context.source.object({
    path: path(),
    route,
    priority: PRIORITY.FULL,
    signal: new AbortController().signal,
    stop: of.signal,
    onExchange: of.onExchange,
  });
  const scope = { userId: of.userId, collection: name, parent: '' };
  const item = { source, state: stateOf(fields), key: '', problem: undefined };
  const { unequal } = await compareItems(of.db, scope, [item], of.rules);
  return unequal[0] ?? { kind: 'equal', source: '', row: undefined, fields: [] };
}
