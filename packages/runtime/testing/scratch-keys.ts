import { tmpdir } from 'node:os';
import { keyStore, type KeyStore } from '../src/kept-keys.ts';

/** For tests in which no key may be lost. */
export const scratchKeys: KeyStore = keyStore({
  folders: [tmpdir()],
  onLost: (error) => {
    throw error;
  },
});
