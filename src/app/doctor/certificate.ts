import { isIP } from 'node:net';
import { connect } from 'node:tls';

/**
 * Names for which the certificate of a TLS server is, whoever signed it; none where it shows no certificate. Nothing
 * is sent to it.
 */
export function certificateNames(
  host: string,
  port: number,
  signal: AbortSignal,
): Promise<readonly string[]> {
  return new Promise((resolve) => {
    // Only looked at: no request follows on a connection to a server that proved nothing.
    const socket = connect({
      host,
      port,
      rejectUnauthorized: false,
      ...(isIP(host) === 0 ? { servername: host } : {}),
    });
    const end = (names: readonly string[]): void => {
      socket.destroy();
      resolve(names);
    };
    socket.once('secureConnect', () => end(namesIn(socket.getPeerCertificate().subjectaltname ?? '')));
    socket.once('error', () => end([]));
    signal.addEventListener('abort', () => end([]), { once: true });
  });
}

/** Of `DNS:a.example.com, IP Address:127.0.0.1`. */
function namesIn(alternatives: string): string[] {
  return [...alternatives.matchAll(/(?:DNS|IP Address):([^,\s]+)/g)].flatMap((match) => match[1] ?? []);
}
