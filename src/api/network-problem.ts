import { TransportError } from '../model/errors.ts';
import { messageOf } from '@research-mirror/runtime/message';

/** What a code of Node, OpenSSL or undici means to the operator. */
const MEANINGS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'closed the connection before it answered',
  UND_ERR_SOCKET: 'closed the connection before it answered',
  ENOTFOUND: 'has no address (name not found)',
  EAI_AGAIN: 'has no address now (name server did not answer)',
  EHOSTUNREACH: 'is unreachable',
  ENETUNREACH: 'is unreachable (no network)',
  ETIMEDOUT: 'could not be connected in time',
  UND_ERR_CONNECT_TIMEOUT: 'could not be connected in time',
  UND_ERR_HEADERS_TIMEOUT: 'did not answer in time',
  UND_ERR_HEADERS_OVERFLOW: 'answered with too many headers',
  CERT_HAS_EXPIRED: 'has an expired certificate',
  CERT_NOT_YET_VALID: "has a certificate that is not valid yet (is this machine's clock right?)",
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a self-signed certificate: name its file in NODE_EXTRA_CA_CERTS',
  SELF_SIGNED_CERT_IN_CHAIN:
    'has a certificate of an unknown authority: name its file in NODE_EXTRA_CA_CERTS',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'has a certificate of an unknown authority: name its file in NODE_EXTRA_CA_CERTS',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'has a certificate of an unknown authority: name its file in NODE_EXTRA_CA_CERTS',
};

/** Characters of a certificate's names that are told. */
const MOST_NAMES = 200;

interface CodedError {
  readonly code?: string;
  /** Of a certificate for another name: `DNS:api.example.com, IP Address:127.0.0.1`. */
  readonly cert?: { readonly subjectaltname?: string };
}

/**
 * A failure without an answer, in words.
 * @param host name and port of the service
 * @param sent whether some of the request may have reached it
 */
export function networkProblem(error: unknown, host: string, sent: boolean): TransportError {
  if (error instanceof TransportError) return new TransportError(error.message, { sent });
  const { code, cert } = codedError(error);
  const meaning = code === undefined ? undefined : MEANINGS[code];
  const names = cert?.subjectaltname?.slice(0, MOST_NAMES);
  return meaning === undefined
    ? new TransportError(`${host} gave no answer: ${messageOf(error)}`, { sent, code })
    : new TransportError(`${host} ${meaning}${names === undefined ? '' : `: it is for ${names}`} (${code})`, {
        sent,
        code,
      });
}

/** Whether the failure is the certificate's, or TLS itself. */
export function isTlsProblem(code: string | undefined): boolean {
  return code !== undefined && /CERT|^UNABLE_TO_|^ERR_TLS_|^ERR_SSL_|^EPROTO$/.test(code);
}

/** The error that has a code: itself, its cause, or the first attempt's where several addresses were tried. */
function codedError(error: unknown): CodedError {
  if (!(error instanceof Error)) return {};
  const coded = error as CodedError;
  if (typeof coded.code === 'string') return coded;
  return codedError(error instanceof AggregateError ? error.errors[0] : error.cause);
}
