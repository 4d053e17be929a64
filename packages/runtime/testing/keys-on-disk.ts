import { tmpdir } from 'node:os';
import { keyStore, type KeyStore } from '../src/keys/kept-keys.ts';

/** Keeps all but a few keys on disk, as it is with very many. */
export const keysOnDisk: KeyStore = keyStore({
  folders: [tmpdir()],
  mostEach: 5,
  onLost: (error) => {
    throw error;
  },
});
