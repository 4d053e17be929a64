/** Those of libpq's TLS parameters that have an effect here, as they stand in a URL. */
export const TLS_PARAMETERS = [
  'sslmode',
  'sslrootcert',
  'sslcrl',
  'sslcert',
  'sslkey',
  'sslpassword',
  'sslnegotiation',
  'ssl_min_protocol_version',
  'ssl_max_protocol_version',
] as const;

/** Where given. */
export type TlsParameters = Readonly<Partial<Record<(typeof TLS_PARAMETERS)[number], string | undefined>>>;

/** Values of sslmode. The last one is the driver's, which libpq does not know. */
export const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/** libpq's variable for a parameter: `PGSSLMINPROTOCOLVERSION`. */
export function variableOf(parameter: string): string {
  return `PG${parameter.replaceAll('_', '').toUpperCase()}`;
}
