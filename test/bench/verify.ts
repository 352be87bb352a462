import { getBytes, hashMessage, recoverAddress, Wallet } from 'ethers';
import { layouts } from '../../core/paymaster/layouts.js';
import { parseAddress } from '../../core/units/address.js';
import { parseUserOperation } from '../../core/userop/parse.js';
import { chainId, paymaster, signerKey, type RequestShape } from './fixture.js';
import { createRequestBuilder } from './requests.js';

/**
 * Proves that a server of the bench does the work it is measured for: its answer to one request must carry data that the
 * vendor 1.1.0 layout decodes, signed by the bench's key over the contract's own hash. Throws when it does not.
 */
export async function verifySubject(
  name: string,
  port: number,
  shape: RequestShape,
  id: number,
): Promise<void> {
  const raw = createRequestBuilder(shape)(id).toString('latin1');
  const [head = '', body = ''] = raw.split('\r\n\r\n');
  const path = head.split(' ')[1] ?? '';
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body,
    signal: AbortSignal.timeout(10_000),
  });
  const answer = (await response.json()) as { result?: { paymasterAndData?: `0x${string}` } };
  const data = answer.result?.paymasterAndData;
  if (response.status !== 200 || data === undefined || data === '0x') {
    throw new Error(`${name} does not sponsor: HTTP ${response.status} ${JSON.stringify(answer)}`);
  }

  const { params } = JSON.parse(body) as { params: [unknown] };
  const op = parseUserOperation(params[0], '0.6');
  const { callGasLimit, verificationGasLimit, preVerificationGas } = op;
  if (callGasLimit === undefined || verificationGasLimit === undefined || preVerificationGas === undefined) {
    throw new Error('the requests of the bench carry all gas limits');
  }
  const codec = layouts['vendor-1.1.0'].sponsorship;
  const { fundingAddress, validUntil, validAfter, signature } = codec.decode(data);
  if (fundingAddress === undefined) throw new Error(`${name} names no funding wallet`);
  const hash = codec.hash(
    { ...op, callGasLimit, verificationGasLimit, preVerificationGas },
    {
      chainId,
      paymaster: parseAddress(paymaster),
      fundingAddress,
      validUntil,
      validAfter,
      options: { priceMarkup: 1_000_000, unaccountedGas: 0 },
    },
  );
  const signer = recoverAddress(hashMessage(getBytes(hash)), signature);
  if (signer !== new Wallet(signerKey).address) throw new Error(`${name} signed something else`);
}
