import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { isDomainError } from '../../../../core/errors.js';
import { CallFailed } from '../../call-failed.js';
import { parseKey, readKeyFile } from '../../file/key-file.js';
import type { KeyProvider } from '../provider.js';

const [nonceBytes, tagBytes] = [12, 16];

/**
 * A key of 32 bytes in a file, 64 hex digits. A ciphertext is `nonce (12) ‖ AES-256-GCM (32) ‖ tag (16)`: it may lie in Git, the file
 * comes to the machine in another way.
 */
export const file: KeyProvider = {
  title: 'a file of the machine',
  variables: [],
  wrapping: {
    pattern: /^\/[^\0]+$/,
    expected: 'the path of a file with 64 hex digits, e.g. /etc/paymaster/wrapping.key',
  },
  connect({ access }) {
    const read = async (path: string): Promise<Uint8Array> => {
      try {
        return parseKey(await readKeyFile(path, access), path);
      } catch (error) {
        // What is wrong with the file; the message names its path and nothing of its content.
        throw new CallFailed('refused', isDomainError(error) ? error.message : `${path} cannot be read`);
      }
    };
    return {
      sign: () => Promise.reject(new CallFailed('refused', 'a file does not sign')),
      async unwrap(path, ciphertext) {
        const key = await read(path);
        try {
          const decipher = createDecipheriv('aes-256-gcm', key, ciphertext.subarray(0, nonceBytes));
          decipher.setAuthTag(ciphertext.subarray(-tagBytes));
          return Buffer.concat([
            decipher.update(ciphertext.subarray(nonceBytes, -tagBytes)),
            decipher.final(),
          ]);
        } catch {
          throw new CallFailed('refused', `the ciphertext was not made with the key of ${path}`);
        }
      },
      async wrap(path, plaintext) {
        const nonce = randomBytes(nonceBytes);
        const cipher = createCipheriv('aes-256-gcm', await read(path), nonce);
        return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
      },
      stop: () => {},
    };
  },
};
