import pg from 'pg';
import { Unusable } from '@research-mirror/runtime/errors';

/** Type OID of timestamptz, which never changes. */
const TIMESTAMPTZ = 1184;
const ISO = /^(?:\d{4,}-\d{2}-\d{2} |-?infinity$)/;

/**
 * The driver's parsers, but for moments that are not in ISO style. The driver reads those as null, so a deleted row
 * would look live. A database or role may have such a style, and a connection through a transaction pooler can't
 * change it.
 * @throws Unusable from the query that reads such a moment
 */
export const valueParsers: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    const parse = pg.types.getTypeParser(oid, format ?? 'text') as (value: string) => unknown;
    return oid === TIMESTAMPTZ && format !== 'binary' ? (value: string) => parse(isoOnly(value)) : parse;
  },
};

function isoOnly(moment: string): string {
  if (ISO.test(moment)) return moment;
  throw new Unusable(
    `the database prints moments as "${moment}", not in ISO style: "alter role … set datestyle = 'ISO'" for its user ` +
      'in DATABASE_URL, then start again',
  );
}
