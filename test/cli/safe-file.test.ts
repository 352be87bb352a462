import { expect, test } from '@jest/globals';
import { computeChecksum, safeFile } from '../../cli/contract/safe-file.js';
import { encodeContractCall } from '../../core/paymaster/contract.js';
import { parseAddress } from '../../core/units/address.js';

/** A file that the Transaction Builder itself wrote (version 1.18.2, published in October 2025). */
const written = {
  version: '1.0',
  chainId: '1',
  createdAt: 1761326849944,
  meta: {
    name: 'Transactions Batch',
    description: '',
    txBuilderVersion: '1.18.2',
    createdFromSafeAddress: '0xA77DE01e157f9f57C7c4A326eeE9C4874D0598b6',
    createdFromOwnerAddress: '',
  },
  transactions: [
    {
      to: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
      value: '0',
      data: null,
      contractMethod: {
        inputs: [
          { internalType: 'address', name: 'spender', type: 'address' },
          { internalType: 'uint256', name: 'value', type: 'uint256' },
        ],
        name: 'approve',
        payable: false,
      },
      contractInputsValues: { spender: '0x474e5Ded6b5D078163BFB8F6dBa355C3aA5478C8', value: '100000000000' },
    },
  ],
};

test('the checksum is the one that the Transaction Builder computes', () => {
  expect(computeChecksum(written)).toBe('0x8b5032f716845c8b08bab3d63dbd9ba92e056f3557793cd041e59b84e16aa989');
});

test('a file changed on its way has another checksum', () => {
  const safe = parseAddress('0xA77DE01e157f9f57C7c4A326eeE9C4874D0598b6');
  const call = { fragment: 'function addSigner(address signer)', values: [safe] };
  const step = {
    verb: 'authorise',
    by: 'owner',
    to: safe,
    value: 0n,
    data: encodeContractCall(call),
    says: 'a',
    call,
  } as const;
  const file = safeFile([step], { chainId: 1, safe, name: 'n', now: 1 }) as typeof written & {
    meta: { checksum: string };
  };
  const { checksum, ...meta } = file.meta;
  expect(computeChecksum({ ...file, meta })).toBe(checksum);
  const transactions = file.transactions.map((each) => ({
    ...each,
    to: '0x474e5Ded6b5D078163BFB8F6dBa355C3aA5478C8',
  }));
  expect(computeChecksum({ ...file, meta, transactions } as never)).not.toBe(checksum);
});
