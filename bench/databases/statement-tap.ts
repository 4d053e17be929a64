import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A statement that a client has sent, as often as it was executed. */
export interface SentStatement {
  readonly text: string;
  executions: number;
  /** The last parameters of some executions: text, or bytes. */
  readonly samples: (string | Buffer | null)[][];
}

/** An address that stands before a Postgres server, and reads along what clients send. */
export interface StatementTap {
  /** The server's URL with this address in place of its own. */
  readonly url: string;
  readonly statements: ReadonlyMap<string, SentStatement>;
  /** Forgets what was read so far. */
  reset(): void;
  close(): Promise<void>;
}

const TLS_REQUEST = 80_877_103;
/** Of each statement: its parameters change with time. */
const MOST_SAMPLES = 20;

/** @param server URL of a server that takes connections without TLS, too */
export async function tapStatements(server: string): Promise<StatementTap> {
  const { hostname, port } = new URL(server);
  const statements = new Map<string, SentStatement>();
  const open = new Set<Socket>();
  const note = (text: string, sample: (string | Buffer | null)[]): void => {
    const found = statements.get(text) ?? { text, executions: 0, samples: [] };
    found.executions += 1;
    found.samples[found.executions % MOST_SAMPLES] = sample;
    statements.set(text, found);
  };
  const listener = createServer((client) => {
    const onward = connect(Number(port), hostname);
    const reader = new ClientReader(note);
    for (const [from, to] of [
      [client, onward],
      [onward, client],
    ] as const) {
      open.add(from);
      from.setNoDelay(true);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        open.delete(from);
        to.destroy();
      });
    }
    client.on('data', (bytes: Buffer) => {
      reader.read(bytes);
      onward.write(bytes);
    });
    client.on('end', () => onward.end());
    onward.pipe(client);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const url = new URL(server);
  url.hostname = '127.0.0.1';
  // What is read along must not be encrypted.
  url.searchParams.set('sslmode', 'disable');
  url.port = String((listener.address() as AddressInfo).port);
  return {
    url: url.href,
    statements,
    reset: () => statements.clear(),
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

/** Reads the client's side of PostgreSQL's protocol: Query, Parse, and Bind, of which each is an execution. */
class ClientReader {
  readonly #note: (text: string, sample: (string | Buffer | null)[]) => void;
  readonly #prepared = new Map<string, string>();
  #rest: Buffer = Buffer.alloc(0);
  #started = false;

  constructor(note: (text: string, sample: (string | Buffer | null)[]) => void) {
    this.#note = note;
  }

  read(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      // The first message has no type before its length.
      const head = this.#started ? 1 : 0;
      if (this.#rest.length < head + 4) return;
      const end = head + this.#rest.readInt32BE(head);
      if (this.#rest.length < end) return;
      if (this.#started) this.#message(String.fromCharCode(this.#rest[0] ?? 0), this.#rest.subarray(5, end));
      // Who asks for TLS begins again when it is refused.
      else this.#started = this.#rest.readInt32BE(4) !== TLS_REQUEST;
      this.#rest = this.#rest.subarray(end);
    }
  }

  #message(type: string, body: Buffer): void {
    const fields = new Fields(body);
    if (type === 'Q') this.#note(fields.text(), []);
    if (type === 'P') this.#prepared.set(fields.text(), fields.text());
    if (type !== 'B') return;
    fields.text();
    const text = this.#prepared.get(fields.text());
    const formats = Array.from({ length: fields.int16() }, () => fields.int16());
    const sample = Array.from({ length: fields.int16() }, (_, index) => {
      const value = fields.value();
      const format = formats.length > 1 ? formats[index] : formats[0];
      return value === null || format === 1 ? value : value.toString();
    });
    if (text !== undefined) this.#note(text, sample);
  }
}

class Fields {
  readonly #body: Buffer;
  #at = 0;

  constructor(body: Buffer) {
    this.#body = body;
  }

  text(): string {
    const end = this.#body.indexOf(0, this.#at);
    const text = this.#body.toString('utf8', this.#at, end);
    this.#at = end + 1;
    return text;
  }

  int16(): number {
    this.#at += 2;
    return this.#body.readInt16BE(this.#at - 2);
  }

  value(): Buffer | null {
    const length = this.#body.readInt32BE(this.#at);
    this.#at += 4;
    if (length < 0) return null;
    this.#at += length;
    return Buffer.from(this.#body.subarray(this.#at - length, this.#at));
  }
}
