import { COLLECTIONS } from '../../model/collections.ts';

/** What shells offer for `export`: the tables and views that every mirror has, business first. */
export const EXPORTED: readonly string[] = [
  ...COLLECTIONS.flatMap(({ name }) => [name, `${name}_live`, `${name}_versions`, `${name}_history`]),
  'companies',
  'changes',
  'credits_daily',
  'events',
  'submissions',
  'webhook',
  'freshness',
  'data_quality',
  'columns',
  'quarantine',
  'sync_log',
  'recoveries',
  'forgotten',
];
