import { expect, test } from '@jest/globals';
import { toAddressKey } from '../../../core/units/address.js';
import { devAccounts } from '../../../standalone/dev-chain/dev-accounts.js';
import { encodeHandleOps } from '../../chain/support/handle-ops.js';
import { anExampleOperation } from '../../core/paymaster/operations.js';
import { handleOpsData } from './handle-ops-data.js';
import type { BundledOperation } from './operations.js';

test.each(['0.6', '0.7', '0.8', '0.9'] as const)(
  'bundles of EntryPoint %s are encoded as ethers does',
  (version) => {
    const operations = ['0x', '0xabcdef', `0x${'12'.repeat(97)}`].map(
      (paymasterAndData, i) =>
        ({ op: { ...anExampleOperation, nonce: BigInt(i) << 64n }, paymasterAndData }) as BundledOperation,
    );
    const beneficiary = toAddressKey(devAccounts.treasury.address);
    for (const count of [1, 3])
      expect(handleOpsData(version, operations.slice(0, count), beneficiary)).toBe(
        encodeHandleOps(version, operations.slice(0, count)),
      );
  },
);
