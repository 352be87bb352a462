import { randomBytes } from 'node:crypto';
import { invalidInput } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import { systemClock } from '../../../core/units/time.js';
import { deriveAddress, loadCurve } from '../curve.js';
import { notAKey } from '../file/key-file.js';
import type { Environment } from '../kind.js';
import { base64, keyProblems } from '../providers/provider.js';
import { type ProviderName, findProvider } from '../providers/table.js';

/**
 * The text of a signer's file of kind envelope, for a new key, which nobody sees, or for `privateKey`. Throws INVALID_INPUT, or
 * CallFailed of the provider.
 */
export async function newEnvelope(request: {
  readonly provider: ProviderName;
  readonly key: string;
  readonly environment: Environment;
  readonly privateKey?: Uint8Array;
}): Promise<string> {
  const { provider, key, environment } = request;
  const row = findProvider(provider);
  const problems = keyProblems(key, row.wrapping);
  if (problems.length > 0) throw invalidInput(problems);
  const curve = await loadCurve(silentLogger);
  // Random bytes are a key, but for one chance in 2^128.
  const privateKey = request.privateKey ?? randomBytes(32);
  if (!curve.isKey(privateKey)) throw notAKey('The key to wrap');
  const client = row.connect({ environment, access: 'group', connections: 1, clock: systemClock });
  try {
    const ciphertext = await client.wrap(key, privateKey, AbortSignal.timeout(10_000));
    return [
      'kind: envelope',
      `provider: ${provider}`,
      `key: ${key}`,
      `ciphertext: ${base64(ciphertext)}`,
      `address: '${deriveAddress(curve.publicKey(privateKey))}'`,
      '',
    ].join('\n');
  } finally {
    client.stop();
  }
}
