import { appendFileSync, readFileSync } from 'node:fs';
import { Unusable } from '@research-mirror/runtime/errors';
import type { WebhookCall } from './service/webhooks.ts';
import type { Operation } from './service/routes.ts';

/** What was asked of the service, and still holds when it starts again. Times are those of the data clock. */
export type Remembered =
  | ({ readonly kind: 'webhook'; readonly user: number } & WebhookCall)
  | {
      readonly kind: 'operation';
      readonly user: number;
      readonly at: number;
      readonly operation: Operation;
      readonly id: string;
      /** As received; '' for none. */
      readonly body: string;
    }
  | {
      readonly kind: 'mutation';
      readonly user?: number;
      readonly at: number;
      /** As JSON: the numbers in it keep all their digits. */
      readonly mutation: string;
    }
  /** By how much the data clock was ahead, milliseconds. */
  | { readonly kind: 'clock'; readonly aheadMs: number };

/** Keeps it in a file, a line each; without a file a sandbox forgets it when it stops. */
export class Memory {
  readonly #file: string;
  #replaying = false;

  /** @param file '' for none */
  constructor(file: string) {
    this.#file = file;
  }

  /** Written at once: a sandbox may be killed. */
  add(remembered: Remembered): void {
    if (this.#file !== '' && !this.#replaying) appendFileSync(this.#file, `${JSON.stringify(remembered)}\n`);
  }

  /** Carries out what is remembered, in the order in which it was asked. @throws Unusable where that can't be read */
  replay(carryOut: (remembered: Remembered) => void): void {
    this.#replaying = true;
    try {
      for (const line of this.#lines()) carryOut(JSON.parse(line) as Remembered);
    } catch (cause) {
      throw new Unusable(`the sandbox can't replay ${this.#file}. Remove that file to start over.`, {
        cause,
      });
    }
    this.#replaying = false;
  }

  /** A line that a kill cut off is closed, and left out. */
  #lines(): string[] {
    let text = '';
    try {
      text = this.#file === '' ? '' : readFileSync(this.#file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    if (text !== '' && !text.endsWith('\n')) appendFileSync(this.#file, '\n');
    return text.split('\n').filter((line) => line.endsWith('}'));
  }
}
