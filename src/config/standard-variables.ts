import type { Variable } from './variable.ts';

/** Variables that others have defined. Nothing is refused in them, and none has a `_FILE`. */
export const STANDARD_VARIABLES = {
  HTTPS_PROXY: {
    means: 'proxy for requests to the service, also in lower case',
    secret: 'url',
  },
  HTTP_PROXY: {
    means: 'the same, where the service is at `http://`',
    secret: 'url',
    compose: 'none',
  },
  NO_PROXY: { means: 'hosts to reach without a proxy, also in lower case' },
  // No request uses it. A password in it is hidden all the same.
  ALL_PROXY: { secret: 'url', compose: 'none' },
  NODE_EXTRA_CA_CERTS: {
    means: 'file of certificate authorities to trust, besides those that Node knows',
    compose: 'none',
  },
  PGPASSWORD: {
    means:
      "password of the database's user, where the URL has none; libpq's other `PG*` fill the URL's gaps likewise",
    section: 'database',
    secret: 'text',
    compose: 'none',
  },
  PGSSLPASSWORD: {
    means: 'password of the key in `sslkey`, where the URL has none',
    section: 'database',
    secret: 'text',
    compose: 'none',
  },
  PORT: {
    means: 'set by hosting platforms: port of the listener for deliveries, without `MIRROR_WEBHOOK_PORT`',
    compose: 'none',
  },
} as const satisfies Record<string, Variable>;
